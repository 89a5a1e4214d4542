"""Fields that several of the shop's forms have."""

from confkv_agents.web.sitekit import Field

ADDRESS = (
    Field("first", "First name", autocomplete="given-name"),
    Field("last", "Last name", autocomplete="family-name"),
    Field("street", "Street address", autocomplete="street-address"),
    Field("city", "City", autocomplete="address-level2"),
    Field("postcode", "Postcode", kind="postcode", autocomplete="postal-code"),
    Field("country", "Country", autocomplete="country-name"),
    Field("telephone", "Phone number", required=False, kind="phone", autocomplete="tel"),
)
COUNTRY = "United States"
EMAIL = Field("email", "Email", kind="email", autocomplete="email")
