"""/v1/responses: the request, its items, the reply, the stream."""
