"""Password hashes: scrypt with a salt, at a cost fit for a test site."""

import hashlib
import hmac

_COST = 2**9


def hash_password(password: str, salt: bytes) -> str:
    """Return `salt$hash`, both in hex."""
    digest = hashlib.scrypt(password.encode(), salt=salt, n=_COST, r=8, p=1, dklen=32)
    return f"{salt.hex()}${digest.hex()}"


def check_password(password: str, stored: str | None) -> bool:
    """Tell whether `password` is the one that `stored` was made from; members without one cannot sign in."""
    if not stored:
        return False
    salt, _, _ = stored.partition("$")
    return hmac.compare_digest(hash_password(password, bytes.fromhex(salt)), stored)
