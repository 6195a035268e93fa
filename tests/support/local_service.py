"""A local gRPC server that implements methods of a Google service."""

from concurrent import futures
from contextlib import contextmanager


@contextmanager
def run_service(name, methods):
    """Runs a server; yields its address, http://host:port.

    Args:
      name: of the interface, such as google.cloud.aiplatform.v1.JobService.
      methods: method → (type of its request, function from the request and the context).
    """
    import grpc

    handlers = {
        method: grpc.unary_unary_rpc_method_handler(
            call,
            request_deserializer=request.deserialize,
            response_serializer=lambda message: (
                message.SerializeToString()
                if hasattr(message, "SerializeToString")
                else type(message).serialize(message)
            ),
        )
        for method, (request, call) in methods.items()
    }
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop(None)
