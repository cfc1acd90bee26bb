import type { ClientFacts, ConnectionFacts, Exchange } from '../exchange/exchange.ts';
import { escaped, jsonText } from './json-text.ts';
import { LoggedFields } from './logged-fields.ts';
import { redactedUrl } from './redacted-url.ts';

const ID_FIELD = 'X-Request-ID: ';
const MILLION = 1_000_000;
const requestFields = new LoggedFields();
const answerFields = new LoggedFields();
const NO_USER = '"user_id":""';

type ConnectionText = { readonly address: string; readonly client: string; readonly remote: string; readonly tls: string };

/** The part of a line that is the same for all requests of a connection. */
const connections = new WeakMap<ConnectionFacts, ConnectionText>();

/**
 * A line of the access log about an exchange that is over, in the shape of Caddy's. `at` in ms since 1970, `took` in ms. It is assembled
 * here, rather than by a logger from an object, because that takes half the time. See decision 0114.
 */
export function accessLine(x: Exchange, at: number, took: number): string {
  const facts = x.client.facts();
  const { address, client, remote, tls } = connectionIn(facts);
  const target = x.target.includes('=') || x.target.includes('%') ? redactedUrl(x.target) : x.target;
  const upstream = x.endpoint === null ? '' : `,"upstream":${jsonText(x.endpoint.address)}`;
  const user = x.user === null ? NO_USER : `"user_id":${escaped(x.user)}`;
  const trace = x.trace === null ? '' : `,"trace_id":"${x.trace.id}"`;
  // The bytes of a tunnel are not a body.
  const size = x.counted ? x.bytesSent : x.bodySent;
  return (
    `{"level":"${x.status >= 500 ? 'error' : 'info'}","ts":${seconds(at)},"logger":"http.log.access","msg":"handled request",` +
    `"request":{${remote}"client_ip":${address === x.client.address ? client : jsonText(x.client.address)},"proto":"${facts.protocol}","method":${jsonText(x.method)},` +
    `"host":${jsonText(x.hostField)},"uri":${jsonText(target)},"headers":${requestFields.json(x.fields)}${tls}},` +
    `"bytes_read":${facts.bodyRead},${user},"duration":${exactSeconds(took)},"size":${size},"status":${x.status},` +
    `"resp_headers":${answerFields.json(x.answerFields)},"request_id":${requestId(x.forwarding)}${trace}${upstream}}\n`
  );
}

/** A line about a head that was refused before it could be read as a request. */
export function refusedLine(address: string, status: number, at: number): string {
  return (
    `{"level":"info","ts":${seconds(at)},"logger":"http.log.access","msg":"handled request","request":{"remote_ip":${jsonText(address)},` +
    `"remote_port":"","client_ip":${jsonText(address)},"proto":"","method":"","host":"","uri":"","headers":{}},"bytes_read":0,${NO_USER},` +
    `"duration":0,"size":0,"status":${status},"resp_headers":{}}\n`
  );
}

function connectionIn({ connection }: ClientFacts): ConnectionText {
  const known = connections.get(connection);
  if (known !== undefined) return known;
  const { address, port, tls } = connection;
  const client = jsonText(address);
  const json = {
    address,
    client,
    remote: `"remote_ip":${client},"remote_port":"${port ?? ''}",`,
    tls:
      tls === null
        ? ''
        : `,"tls":{"resumed":${tls.resumed},"version":${tls.version},"cipher_suite":${tls.cipherSuite},"proto":${jsonText(tls.protocol)},"server_name":${jsonText(tls.serverName)}}`,
  };
  connections.set(connection, json);
  return json;
}

let second = -1;
let secondText = '';

/** Composed of integers, which is several times as fast as formatting a fraction. */
function seconds(ms: number): string {
  const whole = Math.floor(ms / 1_000);
  if (whole !== second) {
    second = whole;
    secondText = `${whole}.`;
  }
  return secondText + `${1_000 + Math.floor(ms - whole * 1_000)}`.slice(1);
}

/** In microseconds, the resolution of the measurement. */
function exactSeconds(ms: number): string {
  const micros = Math.max(0, Math.round(ms * 1_000));
  if (micros >= MILLION) return `${micros / MILLION}`;
  return `0.${`${MILLION + micros}`.slice(1)}`;
}

function requestId(forwarding: string): string {
  const at = forwarding.lastIndexOf(ID_FIELD) + ID_FIELD.length;
  return jsonText(forwarding.slice(at, forwarding.indexOf('\r\n', at)));
}
