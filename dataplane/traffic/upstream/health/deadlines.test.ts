import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { FAILURES_TO_EJECT } from '../../../ledger/targets.ts';
import { Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { eventually } from '../../testing/proxy/test-proxy.ts';

const call = (fields: string): string =>
  `POST /a.B/C HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/grpc\r\n${fields}Content-Length: 5\r\n\r\n\0\0\0\0\0`;

for (const [what, fields, waitMs, isBlamed] of [
  ['whose deadline has passed', 'grpc-timeout: 50m\r\n', 50, false],
  ['whose deadline has not passed', 'grpc-timeout: 50S\r\n', 50, true],
  ['without a deadline', '', 50, true],
] as const)
  test(`a target that cancels gRPC calls ${what} ${isBlamed ? 'leaves' : 'stays in'} the rotation`, async () => {
    using upstream = await Http2UpstreamFixture.serving(() => undefined);
    using proxy = await h2c(upstream);
    for (let nth = 0; nth < FAILURES_TO_EJECT; nth++) {
      const client = await proxy.connect();
      client.send(call(fields));
      await eventually('the call', () => upstream.requests.length > nth);
      proxy.clock.pass(waitMs);
      upstream.requests[nth]?.stream.close(constants.NGHTTP2_CANCEL);
      assert.match((await client.readAnswer()).line, isBlamed ? / 502 / : / 504 /);
    }
    assert.equal(proxy.targetChanges().length, isBlamed ? 1 : 0);
  });
