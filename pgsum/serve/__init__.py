"""A web page and an API on one's own machine. Nothing else imports it: it needs the extra `web`."""
