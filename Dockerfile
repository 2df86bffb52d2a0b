# A worker in a container:
#   docker build -t connect-runtime .
#   docker run -v ./config:/etc/connect connect-runtime standalone /etc/connect/worker.properties /etc/connect/orders.json
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
# Extras to install, e.g. --build-arg EXTRAS=arrow,rest,jdbc,s3
ARG EXTRAS=arrow,rest
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/connect_runtime-*.whl)[${EXTRAS}]" && rm -r /wheels \
 && useradd --system --create-home --uid 10001 connect
USER connect
WORKDIR /home/connect
EXPOSE 8083
# Arguments are the command's: `distributed /etc/connect/worker.properties` or `standalone ...`
ENTRYPOINT ["connect"]
CMD ["--help"]
