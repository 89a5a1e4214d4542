CREATE TABLE category (id INTEGER PRIMARY KEY, slug TEXT UNIQUE NOT NULL, name TEXT NOT NULL, blurb TEXT NOT NULL,
    cover_id INTEGER);
CREATE TABLE product (id INTEGER PRIMARY KEY, sku TEXT UNIQUE NOT NULL, slug TEXT UNIQUE NOT NULL,
    name TEXT UNIQUE NOT NULL, category_id INTEGER NOT NULL REFERENCES category, brand TEXT NOT NULL,
    noun TEXT NOT NULL, colour TEXT, price INTEGER NOT NULL CHECK (price > 0), stock INTEGER NOT NULL CHECK (stock >= 0),
    description TEXT NOT NULL, specs TEXT NOT NULL, sizes TEXT NOT NULL, art TEXT NOT NULL, tint TEXT,
    pieces INTEGER NOT NULL, motif TEXT, featured INTEGER NOT NULL);
CREATE INDEX product_category ON product (category_id);
CREATE TABLE review (id INTEGER PRIMARY KEY, product_id INTEGER NOT NULL REFERENCES product, customer_id INTEGER,
    author TEXT NOT NULL, rating INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5), title TEXT NOT NULL,
    body TEXT NOT NULL, created TEXT NOT NULL);
CREATE INDEX review_product ON review (product_id);
CREATE TABLE customer (id INTEGER PRIMARY KEY, email TEXT UNIQUE NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL,
    password TEXT NOT NULL, newsletter INTEGER NOT NULL DEFAULT 0);
CREATE TABLE address (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customer, first TEXT NOT NULL,
    last TEXT NOT NULL, street TEXT NOT NULL, city TEXT NOT NULL, postcode TEXT NOT NULL, country TEXT NOT NULL,
    telephone TEXT NOT NULL, billing INTEGER NOT NULL DEFAULT 0, shipping INTEGER NOT NULL DEFAULT 0);
CREATE TABLE cart (id INTEGER PRIMARY KEY, customer_id INTEGER UNIQUE REFERENCES customer, coupon TEXT);
CREATE TABLE cart_item (id INTEGER PRIMARY KEY, cart_id INTEGER NOT NULL REFERENCES cart,
    product_id INTEGER NOT NULL REFERENCES product, size TEXT NOT NULL DEFAULT '', quantity INTEGER NOT NULL,
    UNIQUE (cart_id, product_id, size));
CREATE TABLE wish (customer_id INTEGER NOT NULL REFERENCES customer, product_id INTEGER NOT NULL REFERENCES product,
    added INTEGER NOT NULL, PRIMARY KEY (customer_id, product_id));
CREATE TABLE coupon (code TEXT PRIMARY KEY, slug TEXT UNIQUE NOT NULL, title TEXT NOT NULL, percent INTEGER NOT NULL,
    category_id INTEGER, minimum INTEGER NOT NULL, free_shipping INTEGER NOT NULL, expired INTEGER NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, number TEXT UNIQUE NOT NULL, customer_id INTEGER, email TEXT NOT NULL,
    created TEXT NOT NULL, status TEXT NOT NULL, shipping_address TEXT NOT NULL, billing_address TEXT NOT NULL,
    shipping_method TEXT NOT NULL, payment_method TEXT NOT NULL, coupon TEXT, subtotal INTEGER NOT NULL,
    discount INTEGER NOT NULL, shipping INTEGER NOT NULL, total INTEGER NOT NULL);
CREATE TABLE order_item (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders,
    product_id INTEGER NOT NULL, sku TEXT NOT NULL, name TEXT NOT NULL, size TEXT NOT NULL, price INTEGER NOT NULL,
    quantity INTEGER NOT NULL);
CREATE INDEX order_item_order ON order_item (order_id);
CREATE TABLE registry (id INTEGER PRIMARY KEY, slug TEXT UNIQUE NOT NULL, title TEXT NOT NULL, first TEXT NOT NULL,
    last TEXT NOT NULL, street TEXT NOT NULL, city TEXT NOT NULL, postcode TEXT NOT NULL, country TEXT NOT NULL,
    telephone TEXT NOT NULL, note TEXT NOT NULL);
CREATE TABLE registry_item (registry_id INTEGER NOT NULL REFERENCES registry, product_id INTEGER NOT NULL,
    quantity INTEGER NOT NULL, PRIMARY KEY (registry_id, product_id));
CREATE TABLE message (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL, telephone TEXT NOT NULL,
    comment TEXT NOT NULL);
CREATE TABLE session (id TEXT PRIMARY KEY, data TEXT NOT NULL);
