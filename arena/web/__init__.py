"""The arena in a browser: pages and a JSON API over the store. What is live, the browser asks of the arena itself."""
