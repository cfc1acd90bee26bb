import { BEACON_PATH, BEACON_SCRIPT_PATH } from '../../../../shared/name.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { clientKey } from '../../../ledger/client-key.ts';
import { joinFingerprints, joinHashes, keyOf } from '../../../ledger/hash.ts';
import type { Ledger } from '../../../ledger/ledger.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import { answer } from '../../exchange/answer.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { OWN_PATH, type OwnAnswer } from '../../exchange/own-answer.ts';
import { parseObservation } from './observation.ts';
import { readBody } from './read-body.ts';
import { vitalsScript } from './script.ts';

/** The longest report of a page (bytes). */
const MAX_BODY = 4_096;
/** Reports per second and client. */
const RATE = 10;
const SCOPE = keyOf('beacon');

export type BeaconTools = { readonly rates: Ledger['rates']; now(): number };

/** The responses of a site under the proxy's own paths: 404 if it does not measure its pages. */
export type OwnPaths<Tools = BeaconTools> = {
  serve(x: Exchange, tools: Tools): void;
  /** How a GET of this path would be answered. */
  explain(path: string): string;
};

const refusal = (status: number, reason: string, fields = ''): OwnAnswer => ({ status, fields, body: null, reason });
const TOO_LARGE = refusal(413, `a report of Web Vitals has at most ${MAX_BODY} bytes`);
const FOREIGN = refusal(403, 'Web Vitals are reported by a page of another site');
const TOO_MANY = refusal(429, 'over the rate limit of Web Vitals', 'Retry-After: 1\r\n');
const MALFORMED = refusal(400, 'a report of Web Vitals is not JSON with lcp, cls and inp in their ranges');
const TAKEN: OwnAnswer = { status: 204, fields: '', body: '', reason: 'Web Vitals' };
const NO_GET = refusal(405, 'Web Vitals are posted', 'Allow: POST\r\n');
const NO_POST = refusal(405, 'the script of Web Vitals is only read', 'Allow: GET, HEAD\r\n');

export const ownPathsOf = (route: RouteSpec): OwnPaths => (route.analytics == null ? NOTHING : BEACON);

const described = ({ status, reason }: OwnAnswer): string => `${status}: ${reason}`;

const NOTHING: OwnPaths = { serve: (x) => answer(x, OWN_PATH), explain: () => described(OWN_PATH) };
const BEACON: OwnPaths = {
  serve: serveOwnPath,
  explain: (path) => (path === BEACON_SCRIPT_PATH ? '200: the script of Web Vitals' : described(path === BEACON_PATH ? NO_GET : OWN_PATH)),
};

function serveOwnPath(x: Exchange, tools: BeaconTools): void {
  if (x.path === BEACON_SCRIPT_PATH) serveScript(x);
  else if (x.path === BEACON_PATH) collect(x, tools);
  else answer(x, OWN_PATH);
}

function serveScript(x: Exchange): void {
  if (x.method !== 'GET' && x.method !== 'HEAD') return answer(x, NO_POST);
  const { tag, codings, plain } = vitalsScript();
  const accepted = (fieldIn(x.fields, 'accept-encoding') ?? '').toLowerCase();
  const coding = codings.find(({ name }) => accepts(accepted, name));
  const etag = `"${tag}${coding === undefined ? '' : `-${coding.name}`}"`;
  const fields = `ETag: ${etag}\r\nCache-Control: public, max-age=86400\r\nVary: Accept-Encoding\r\n`;
  if ((fieldIn(x.fields, 'if-none-match') ?? '').includes(etag))
    return answer(x, { status: 304, fields, body: '', reason: 'not modified' });
  const type = 'Content-Type: text/javascript; charset=utf-8\r\n';
  const encoding = coding === undefined ? '' : `Content-Encoding: ${coding.name}\r\n`;
  answer(x, { status: 200, fields: fields + type + encoding, body: coding?.bytes ?? plain, reason: 'the script of Web Vitals' });
}

/** Whether an Accept-Encoding names a coding, and not with a quality of 0 (RFC 9110 12.5.3). */
const accepts = (field: string, coding: string): boolean =>
  field.split(',').some((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });

function collect(x: Exchange, tools: BeaconTools): void {
  if (x.method !== 'POST') answer(x, NO_GET);
  else readBody(x, MAX_BODY, (body) => answer(x, judge(x, body, tools)));
}

/** `body` is null if it is too large. */
function judge(x: Exchange, body: Buffer | null, { rates, now }: BeaconTools): OwnAnswer {
  if (body === null) return TOO_LARGE;
  const origin = fieldIn(x.fields, 'origin');
  if (origin !== null && !isOwnOrigin(origin, x.hostField)) return FOREIGN;
  const client = clientKey(x.client.address);
  if (!rates.second.admit(joinHashes(SCOPE, client), joinFingerprints(SCOPE, client), RATE, now())) return TOO_MANY;
  const observation = parseObservation(body);
  if (observation === null) return MALFORMED;
  x.vitals = observation;
  return TAKEN;
}

/** Whether an Origin is that of the requested host. Its scheme may differ: a proxy in front of this one may terminate TLS. */
const isOwnOrigin = (origin: string, hostField: string): boolean =>
  origin.toLowerCase().replace(/^https?:\/\//, '') === hostField.toLowerCase();
