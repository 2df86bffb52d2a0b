# A worker in a container:
#   docker build -t connect-runtime .
#   docker run -v ./config:/etc/connect connect-runtime standalone /etc/connect/worker.properties /etc/connect/orders.json
# Plug-ins and further libraries: FROM connect-runtime, USER root, RUN PIP_PYTHON=/opt/connect pip install ..., USER 10001.

FROM python:3.11-slim AS build
# Extras to install, e.g. --build-arg EXTRAS=arrow,rest,jdbc,s3
ARG EXTRAS=arrow,rest
WORKDIR /src
COPY . .
RUN python -m venv --without-pip /opt/connect \
 && PIP_PYTHON=/opt/connect pip install --no-cache-dir "/src[${EXTRAS}]" \
 && python -m venv /opt/bill \
 && /opt/bill/bin/pip install --no-cache-dir cyclonedx-bom==7.5.0 \
 && /opt/bill/bin/cyclonedx-py environment --of JSON --output-file /opt/connect/bill-of-materials.cdx.json /opt/connect

FROM python:3.11-slim
RUN groupadd --gid 10001 connect && useradd --uid 10001 --gid 10001 --create-home connect
# What was built, and /opt/connect/bill-of-materials.cdx.json (CycloneDX) with every package in it.
COPY --from=build /opt/connect /opt/connect
ENV PATH=/opt/connect/bin:$PATH
# By number, so that Kubernetes sees that it is not root.
USER 10001:10001
WORKDIR /home/connect
EXPOSE 8083
# Whether the worker works, not whether it is ready: what restarts unhealthy containers shall not do so for brokers that
# are away. Not through a proxy that the container has for the world outside. A worker that listens elsewhere:
# -e CONNECT_HEALTH_URL=https://...
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=6 \
  CMD ["python", "-c", "import os, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(os.environ.get('CONNECT_HEALTH_URL', 'http://127.0.0.1:8083/health/live'), timeout=5)"]
# Arguments are the command's: `distributed /etc/connect/worker.properties` or `standalone ...`
ENTRYPOINT ["connect"]
CMD ["--help"]
