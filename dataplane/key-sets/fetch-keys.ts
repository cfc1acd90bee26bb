import { lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { KeySource } from '../../shared/policy/jwt/key-source.ts';
import { type JwtKey, readKeys } from '../../shared/policy/jwt/keys.ts';
import { isPrivateAddress } from '../../shared/private-ranges.ts';
import { request } from '../../shared/runtime/http/node-http.ts';
import { https } from '../../shared/runtime/node-on-demand.ts';

/** How long a fetch may take as a whole (ms). */
const TIMEOUT_MS = 10_000;
/** Bytes. */
const LONGEST_BODY = 262_144;

/** Keys, and for how long their issuer says that they may be stored (seconds); null if it does not say. */
export type FetchedKeys = { readonly keys: JwtKey[]; readonly maxAgeSecs: number | null };

/** Fetches a JWKS. Redirects are not followed, and certificates are verified. @throws Error with a reason in words. */
export async function fetchKeys({ url, private: isPrivate }: KeySource, signal?: AbortSignal): Promise<FetchedKeys> {
  const { text, cacheControl } = await get(new URL(url), isPrivate, signal);
  const keys = readKeys(text);
  if (!keys.ok) throw new Error(`the response is no set of keys: ${keys.reason}`);
  return { keys: keys.value, maxAgeSecs: maxAgeOf(cacheControl) };
}

type Response = { readonly text: string; readonly cacheControl: string };

function get(url: URL, isPrivate: boolean, aborted?: AbortSignal): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signal = aborted ? AbortSignal.any([timeout, aborted]) : timeout;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const plain = url.protocol === 'http:';
  if (plain && !(isPrivate && (isIP(host) === 0 || isPrivateAddress(host)))) throw new Error(NOT_PRIVATE);
  const headers = { accept: 'application/jwk-set+json, application/json', 'accept-encoding': 'identity' };
  const send = plain ? request : https().request;
  const call = send(url, { headers, signal, agent: false, ...(plain && { lookup: lookupPrivate }) }, (response) => {
    const { statusCode = 0, headers: fields } = response;
    const refuse = (reason: string): void => {
      reject(new Error(reason));
      call.destroy();
    };
    if (statusCode >= 300 && statusCode < 400) return refuse(`the response is a redirect (${statusCode}), which is not followed`);
    if (statusCode !== 200) return refuse(`the response is ${statusCode}`);
    if ((fields['content-encoding'] ?? 'identity') !== 'identity')
      return refuse('the response is compressed, although that was not accepted');
    const pieces: Buffer[] = [];
    let bytes = 0;
    response.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > LONGEST_BODY) refuse(`the response has more than ${LONGEST_BODY} bytes`);
      else pieces.push(piece);
    });
    response.on('end', () => {
      if (response.complete) resolve({ text: Buffer.concat(pieces).toString(), cacheControl: fields['cache-control'] ?? '' });
    });
    response.on('error', reject);
  });
  call.on('error', (error) => reject(timeout.aborted ? new Error(`no response within ${TIMEOUT_MS / 1_000} s`) : error));
  call.end();
  return promise;
}

const NOT_PRIVATE = 'over HTTP, keys are only fetched from loopback and private addresses';

/** Resolves names to private addresses only, so that no unprotected request is sent to the internet. */
const lookupPrivate: LookupFunction = (host, options, done) => {
  lookup(host, { ...options, all: true }, (error, found) => {
    const addresses = error ? [] : found.filter(({ address }) => isPrivateAddress(address));
    const [first] = addresses;
    if (error || first === undefined) return done(error ?? new Error(NOT_PRIVATE), '');
    if (options.all) done(null, addresses);
    else done(null, first.address, first.family);
  });
};

/** RFC 9111 5.2.2. Keys that must not be stored are fetched as often as allowed. */
function maxAgeOf(cacheControl: string): number | null {
  if (/(?:^|[\s,])no-(?:store|cache)(?:[\s,]|$)/i.test(cacheControl)) return 0;
  const seconds = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(cacheControl)?.[1];
  return seconds === undefined ? null : Number(seconds);
}
