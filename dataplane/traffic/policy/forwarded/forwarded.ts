import type { RequestHead } from '../../http1/request-head.ts';

/**
 * Who is asking, and what the upstream is told of it. A connection from a trusted proxy speaks for
 * others; everybody else speaks for themselves, whatever their fields claim.
 */
export type Peer = {
  /** The connection's own address. */
  readonly address: string;
  readonly secure: boolean;
  readonly trusted: boolean;
  /** X-Forwarded-For, -Proto and X-Real-IP of an untrusted connection, ready to send: the same for each of its requests. */
  readonly lines: string;
};

export type Asked = { readonly address: string; readonly lines: string };

export function peerOf(address: string, secure: boolean, trusted: boolean): Peer {
  return { address, secure, trusted, lines: lines(address, secure ? 'https' : 'http', address) };
}

const lines = (chain: string, proto: string, client: string): string =>
  `X-Forwarded-For: ${chain}\r\nX-Forwarded-Proto: ${proto}\r\nX-Real-IP: ${client}\r\n`;

/** The client's address and the lines for the upstream but for host and id. */
export function askedBy(peer: Peer, head: RequestHead, trusts: (address: string) => boolean): Asked {
  const claimed = head.fields.forwardedFor;
  const proto = head.fields.forwardedProto?.toLowerCase();
  if (!peer.trusted || (claimed === null && proto === undefined)) return peer;
  const chain = claimed === null ? peer.address : `${claimed}, ${peer.address}`;
  const client = claimed === null ? peer.address : fromTheRight(claimed, peer.address, trusts);
  return { address: client, lines: lines(chain, proto === 'http' || proto === 'https' ? proto : peer.secure ? 'https' : 'http', client) };
}

/** Walks the chain from the right: the first address that is not a trusted proxy is the client (MDN calls it the trusted-proxy-list method). */
function fromTheRight(chain: string, nearest: string, trusts: (address: string) => boolean): string {
  const hops = chain.split(',').map((hop) => hop.trim());
  let client = nearest;
  for (let at = hops.length - 1; at >= 0; at--) {
    const hop = bare(hops[at] as string);
    if (hop === '') break;
    client = hop;
    if (!trusts(hop)) break;
  }
  return client;
}

/** An address without the port and brackets that some proxies add; empty for what is none. */
function bare(hop: string): string {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::\d+)?$|^([0-9A-Fa-f:]+)$/.exec(hop);
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? '';
}

/** The id that a trusted proxy gave the request, if it is fit to be passed on. */
export function trustedRequestId(peer: Peer, head: RequestHead): string | null {
  const id = head.fields.requestId;
  return peer.trusted && id !== null && id.length > 0 && id.length <= 128 ? id : null;
}

export function trustedHost(peer: Peer, head: RequestHead): string {
  const host = head.fields.forwardedHost;
  return peer.trusted && host !== null && host !== '' ? host : head.hostField;
}
