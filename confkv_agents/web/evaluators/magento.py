"""What checks ask of a Magento shop's administration interface (REST), where the shop is not one of ours.

The interface: https://developer.adobe.com/commerce/webapi/rest/. Orders are sorted by the time they were made;
reviews come oldest first.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from confkv_agents.errors import InfraError, SiteError
from confkv_agents.web.evaluators.means import ShopAccess
from confkv_agents.web.http import fetch_json

_TOKEN = "/rest/default/V1/integration/admin/token"
_NEWEST_FIRST = {
    "searchCriteria[sortOrders][0][field]": "created_at",
    "searchCriteria[sortOrders][0][direction]": "DESC",
    "searchCriteria[pageSize]": "1",
}


class Magento:
    """The administration interface of one shop.

    Args:
        url: The shop's address.
        access: A token, or an administrator's name and password, for which a token is asked on first use.
    """

    def __init__(self, url: str, access: ShopAccess) -> None:
        self._url = url.rstrip("/")
        self._access = access
        self._token = access.token.strip()

    def latest_order_url(self) -> str:
        """The address at which a customer sees the newest order; "" when there is none.

        Raises:
            InfraError: The shop does not answer, or not as Magento does.
        """
        answer = self._get(f"/rest/V1/orders?{urlencode(_NEWEST_FIRST)}")
        try:
            orders = answer["items"] or []
            return f"{self._url}/sales/order/view/order_id/{int(orders[0]['increment_id'])}/" if orders else ""
        except (KeyError, TypeError, ValueError) as error:
            raise InfraError(f"{self._url}: the list of orders has an unknown form ({error!r})") from error

    def latest_review(self, sku: str, field: str) -> str:
        """A field of the newest review of a product; "" when there is none.

        Args:
            sku: The product's number.
            field: `author`, `rating` (a percentage), `body` or `title`.

        Raises:
            InfraError: The shop does not answer, or not as Magento does.
        """
        reviews = self._get(f"/rest/V1/products/{quote(sku, safe='')}/reviews")
        if not reviews:
            return ""
        try:
            newest = reviews[-1]
            if field == "rating":
                return str(newest["ratings"][0]["percent"])
            return str(newest[{"author": "nickname", "body": "detail", "title": "title"}[field]])
        except (KeyError, TypeError, IndexError) as error:
            raise InfraError(f"{self._url}: the reviews of {sku} have an unknown form ({error!r})") from error

    def _get(self, path: str) -> Any:
        try:
            if not self._token:
                told = {"username": self._access.user, "password": self._access.password}
                self._token = str(fetch_json(self._url + _TOKEN, told))
            return fetch_json(self._url + path, headers={"Authorization": f"Bearer {self._token}"})
        except SiteError as error:
            raise InfraError(f"the shop's administration interface: {error}") from error
