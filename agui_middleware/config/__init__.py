"""Who gets what: settings, routes, who reads a response, and the plan that follows from them."""
