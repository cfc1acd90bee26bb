import { isIP, SocketAddress } from 'node:net';
import { hopsLine } from '../codec/hops.ts';
import type { RequestHead } from '../codec/http1/request-head.ts';
import { inOnePiece } from '../codec/one-piece.ts';
import type { LocalEnd, TlsFacts } from '../exchange/exchange.ts';
import { BLOCK, LAST_DIGITS, type RequestIds } from '../exchange/request-ids.ts';

/**
 * The client's address, and what is sent to the upstream about it. A trusted proxy may speak for
 * its clients; any other peer speaks only for itself, regardless of its fields.
 */
export type Peer = {
  /** The connection's own address. */
  readonly address: string;
  /** null if a PROXY header named the address without a port. */
  readonly port: number | null;
  /** The local port that it arrived at. */
  readonly localPort: number;
  /** The local end of the connection. */
  readonly local: LocalEnd;
  readonly secure: boolean;
  /** What was negotiated; null without TLS. */
  readonly tls: TlsFacts | null;
  /** The certificate that the client was served; null without TLS. */
  readonly certificate: ConnectionCertificate | null;
  /** Re-evaluated when the settings change: a proxy may keep its connections open for days. */
  trusted: boolean;
  /** X-Forwarded-For of an untrusted connection. */
  readonly chain: string;
  /** The host of its last request. */
  lastHost: string | null;
  /**
   * The lines for the upstream that its requests for that host have in common, up to the last two digits of the id. Set by the second of
   * them, since most idle connections have sent only one.
   */
  common: string;
  /** How many ids of the block that `common` contains it has used. */
  idsUsed: number;
};

/** What matters about the certificate that a client was served. */
export type ConnectionCertificate = {
  /** Whether the client may request this host on this connection. */
  covers(host: string): boolean;
  /** Whether Strict-Transport-Security may be sent. */
  readonly allowsHsts: boolean;
  /** The client certificate rule that the handshake satisfied; empty for none. */
  readonly clientRule: string;
};

/** `secure`: whether the client itself came over HTTPS. */
export type Origin = { readonly address: string; readonly secure: boolean; readonly chain: string };

/** What is known about a connection before its first request. */
type Arrived = Pick<Peer, 'address' | 'port' | 'localPort' | 'local' | 'tls' | 'certificate' | 'trusted'>;

/** The peer of a new connection. */
export function peerOf({ address, port, localPort, local, tls, certificate, trusted }: Arrived): Peer {
  return {
    address,
    port,
    localPort,
    local,
    secure: certificate !== null,
    tls,
    certificate,
    trusted,
    chain: address,
    lastHost: null,
    common: '',
    idsUsed: BLOCK,
  };
}

/** More hops than any chain of proxies has; entries further left are ignored. */
const MAX_HOPS = 64;

/** The client's address and the lines for the upstream, except host and id. */
export function originOf(peer: Peer, head: RequestHead, trusts: (address: string) => boolean): Origin {
  const claimed = head.fields.forwardedFor;
  const proto = head.fields.forwardedProto;
  if (!peer.trusted || (claimed === null && proto === null)) return peer;
  const chain = claimed === null || claimed === '' ? peer.address : `${claimed}, ${peer.address}`;
  const client = claimed === null ? peer.address : clientOfChain(claimed, peer.address, trusts);
  const scheme = schemeOf(proto) ?? (peer.secure ? 'https' : 'http');
  return { address: client, secure: scheme === 'https', chain };
}

/**
 * Walks the chain from the right: the first address that is not a trusted proxy is the client. What is
 * left of it, or left of an entry that is not an address, can't be trusted.
 */
function clientOfChain(chain: string, nearest: string, trusts: (address: string) => boolean): string {
  let client = nearest;
  for (let end = chain.length, hops = 0; end >= 0 && hops < MAX_HOPS; hops++) {
    const comma = chain.lastIndexOf(',', end - 1);
    const hop = chain.slice(comma + 1, end).trim();
    end = end === 0 ? -1 : comma;
    // Empty list members are ignored (RFC 9110 5.6.1.2).
    if (hop === '') continue;
    const address = addressOf(hop);
    if (address === null) break;
    client = address;
    if (!trusts(address)) break;
  }
  return client;
}

const WITH_PORT = /^(?:\[(.*)\]|([0-9.]+))(?::\d{1,5})?$/;

/** An address in its usual spelling, without the port and brackets that some proxies add; null if it is not an address. */
function addressOf(hop: string): string | null {
  if (hop.length > LONGEST_HOP) return null;
  const parts = WITH_PORT.exec(hop);
  const address = parts?.[1] ?? parts?.[2] ?? hop;
  const family = isIP(address);
  if (family === 4) return parts?.[1] === undefined ? address : null;
  if (family === 0 || address.includes('%')) return null;
  const spelled = new SocketAddress({ address, family: 'ipv6' }).address;
  return spelled.startsWith(IPV4_IN_IPV6) ? spelled.slice(IPV4_IN_IPV6.length) : spelled;
}

/** `[`, an address, `]:`, a port. */
const LONGEST_HOP = 64;
const IPV4_IN_IPV6 = '::ffff:';

/** The value from the nearest proxy: the last one if several have added theirs. null for any scheme but http and https. */
function schemeOf(proto: string | null): 'http' | 'https' | null {
  if (proto === null) return null;
  const last = proto
    .slice(proto.lastIndexOf(',') + 1)
    .trim()
    .toLowerCase();
  return last === 'http' || last === 'https' ? last : null;
}

/** The id that a trusted proxy gave the request, if it is valid. */
function trustedRequestId(peer: Peer, head: RequestHead): string | null {
  const id = head.fields.requestId;
  return peer.trusted && id !== null && id.length > 0 && id.length <= 128 ? id : null;
}

function trustedHost(peer: Peer, head: RequestHead): string {
  const host = head.fields.forwardedHost;
  return peer.trusted && host !== null && host !== '' ? host : head.hostField;
}

/** The fields that tell the upstream about the client: X-Forwarded-*, X-Real-IP, the count of hops and X-Request-ID, as lines. */
export function forwardingLines(peer: Peer, origin: Origin, head: RequestHead, ids: RequestIds): string {
  const host = trustedHost(peer, head);
  const { hops } = head.fields;
  const trusted = trustedRequestId(peer, head);
  if (trusted !== null) return `${linesBeforeId(origin, host, hops)}${trusted}\r\n`;
  if (origin !== peer || hops !== 0) return `${linesBeforeId(origin, host, hops)}${ids.next()}\r\n`;
  if (peer.lastHost !== host) {
    peer.lastHost = host;
    peer.common = '';
    peer.idsUsed = BLOCK;
    return `${linesBeforeId(origin, host, 0)}${ids.next()}\r\n`;
  }
  if (peer.idsUsed === BLOCK) {
    peer.common = inOnePiece(linesBeforeId(origin, host, 0) + ids.block());
    peer.idsUsed = 0;
  }
  return peer.common + ID_ENDS[peer.idsUsed++];
}

const ID_ENDS: readonly string[] = LAST_DIGITS.map((digits) => `${digits}\r\n`);

const linesBeforeId = ({ address, secure, chain }: Origin, host: string, hops: number): string =>
  `X-Forwarded-For: ${chain}\r\nX-Forwarded-Proto: ${secure ? 'https' : 'http'}\r\nX-Real-IP: ${address}\r\n` +
  `X-Forwarded-Host: ${host}\r\n${hopsLine(hops)}X-Request-ID: `;
