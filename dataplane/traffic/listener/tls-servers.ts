import { constants, createHash, hkdfSync } from 'node:crypto';
import type { Socket } from 'node:net';
import type { Server, TLSSocket, TlsOptions } from 'node:tls';
import { CIPHERS } from '../../../shared/ciphers.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { tls } from '../../../shared/runtime/node-on-demand.ts';
import { TurnoverMap } from '../../../shared/runtime/turnover-map.ts';
import { type Faults, guarded } from '../exchange/faults.ts';
import type { AcceptedSocket } from '../io/accepted-socket.ts';
import { tlsOver } from '../io/node-handle.ts';
import { type HandshakeOwner, ServerTls } from '../io/server-tls.ts';
import type { ClientAuth } from '../policy/client-certificate/client-auth.ts';
import type { PresentedCertificate } from './certificates.ts';

/** The maximum number of servers in the cache (40 KB each); the least recently used one is evicted and rebuilt on demand. */
const MAX_SERVERS = 1_000;

/**
 * In our order of preference; the first that the client offers is chosen (RFC 7301). The library refuses a client that offers none of them,
 * and some offer only the version that they speak.
 */
const PROTOCOLS = ['h2', 'http/1.1', 'http/1.0'];
/** The same as a list of ALPN (RFC 7301 3.1). */
const PROTOCOL_LIST = Buffer.concat(PROTOCOLS.flatMap((name) => [Buffer.of(name.length), Buffer.from(name)]));
/** The protocol of an authority's challenge (RFC 8737); nothing follows the handshake. */
export const ACME_TLS_PROTOCOL = 'acme-tls/1';

/** How long a ticket resumes a session (s): a tenth of what RFC 8446 4.6.1 allows. */
const TICKET_SECS = 60_480;
/** The same with a client certificate, which is not verified again on resumption and may have expired meanwhile. */
const VERIFIED_TICKET_SECS = 3_600;
const TICKET_KEY_BYTES = 48;
const NO_SERVER = { presented: null, server: null };
/** Handshake timeout (ms). */
export const HANDSHAKE_MS = 10_000;

export type HandshakeCallbacks = {
  /** The handshake is complete. */
  done(socket: TLSSocket): void;
  /** It failed, and the connection is about to be closed. */
  failed(reason: string): void;
};

/**
 * The TLS handshakes of one worker. Each certificate has its own TLS server, which does not listen on a port: connections are
 * handed to it after their ClientHello has been read, so that its tickets and rules apply nowhere else.
 */
export class TlsServers {
  private readonly log: Log;
  private readonly faults: Faults;
  /** In order of last use; null if the library refuses the certificate. */
  private readonly servers = new Map<PresentedCertificate, Server | null>();
  /** The handshakes in progress, by the addresses and ports of their connection. */
  private readonly underWay = new TurnoverMap<string, HandshakeCallbacks>();
  /** The last one used: consecutive handshakes are mostly for the same certificate. */
  private newest: { readonly presented: PresentedCertificate | null; readonly server: Server | null } = NO_SERVER;
  private ticketKeys: Buffer | null = null;

  constructor(log: Log, faults: Faults) {
    this.log = log;
    this.faults = faults;
  }

  /** Tickets are valid wherever the same keys are used: 48 bytes. Those of other keys are no longer accepted. */
  useTicketKeys(keys: Uint8Array): void {
    if (this.ticketKeys?.equals(keys)) return;
    this.ticketKeys = Buffer.from(keys);
    this.servers.clear();
    this.newest = NO_SERVER;
  }

  /**
   * Performs the handshake on a paused socket, after the bytes already read have been put back.
   * @returns false if the certificate cannot be used; the reason is logged once.
   */
  begin(socket: Socket, presented: PresentedCertificate, end: HandshakeCallbacks): boolean {
    const server = this.serverOf(presented);
    if (server === null) return false;
    const key = keyOf(socket);
    // The client has reset the connection.
    if (key === null) {
      socket.destroy();
      return true;
    }
    this.underWay.set(key, end);
    // Its close may be noticed seconds after a reset, when its port has been used for another connection.
    socket.once('close', () => {
      if (this.underWay.get(key) === end) this.underWay.delete(key);
    });
    server.emit('connection', socket);
    return true;
  }

  /**
   * The same on a connection without a stream, for a certificate without a rule for those of clients. The caller enforces the time limit.
   * @returns null if that is not possible; the connection is then as before.
   */
  secure(socket: AcceptedSocket, presented: PresentedCertificate, owner: HandshakeOwner): ServerTls | null {
    // The library performs those of rules and challenges, and on a stream that is there anyway.
    if (presented.auth !== null || presented.published.challenge === true || socket.hasStream) return null;
    const server = this.serverOf(presented);
    const handle = server && socket.takeHandle((tcp) => tlsOver(tcp, server, PROTOCOL_LIST));
    return handle === null ? null : new ServerTls(handle, owner);
  }

  private serverOf(presented: PresentedCertificate): Server | null {
    if (presented === this.newest.presented) return this.newest.server;
    let server = this.servers.get(presented);
    if (server === undefined) server = this.build(presented);
    else this.servers.delete(presented);
    this.servers.set(presented, server);
    this.newest = { presented, server };
    return server;
  }

  private build({ published, auth }: PresentedCertificate): Server | null {
    if (this.servers.size >= MAX_SERVERS) for (const oldest of this.servers.keys()) if (this.servers.delete(oldest)) break;
    try {
      const server = tls().createServer({
        cert: published.certificate,
        key: published.private_key,
        minVersion: 'TLSv1.2',
        ciphers: CIPHERS,
        // A second handshake on a connection costs us more than its client, and HTTP/2 forbids it (RFC 9113 9.2.1).
        secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
        ALPNProtocols: published.challenge === true ? [ACME_TLS_PROTOCOL] : PROTOCOLS,
        handshakeTimeout: HANDSHAKE_MS,
        sessionTimeout: TICKET_SECS,
        // A ticket resumes sessions only for the names that it was issued for.
        sessionIdContext: createHash('sha256').update(published.domains.join()).digest('hex').slice(0, 32),
        ...(this.ticketKeys !== null && { ticketKeys: this.ticketKeys }),
        ...(auth !== null && optionsFor(auth, published.domains, this.ticketKeys)),
      });
      const completed = (socket: TLSSocket): void => {
        const end = this.claim(socket);
        // The client has reset the connection: its address is no longer known, and its close would go unnoticed.
        if (end === undefined) return void socket.destroy();
        // Not before: a client that leaves in the middle of the handshake would go unnoticed.
        socket.allowHalfOpen = true;
        end.done(socket);
      };
      const failed = (error: Error, socket: TLSSocket): void => {
        if (socket.authorizationError) this.certificateRefused(auth, socket.authorizationError);
        this.claim(socket)?.failed(error.message);
        socket.destroy();
      };
      const contained = (socket: TLSSocket, act: () => void): void => {
        const onFault = (error: unknown): void => {
          this.faults.note('connection', error);
          socket.destroy();
        };
        guarded({ onFault }, act)();
      };
      server.on('secureConnection', (socket) => contained(socket, () => completed(socket)));
      server.on('tlsClientError', (error, socket) => contained(socket, () => failed(error, socket)));
      return server;
    } catch (error) {
      this.log.error({ domains: published.domains, error: String(error) }, 'a certificate cannot be used');
      return null;
    }
  }

  /** The library closes such a connection without an alert, and reports it when the connection's owner is no longer known. */
  private certificateRefused(auth: ClientAuth | null, reason: unknown): void {
    this.log.debug({ site: auth?.domain, reason: String(reason) }, 'a client certificate is not accepted');
  }

  private claim(socket: TLSSocket): HandshakeCallbacks | undefined {
    const key = keyOf(socket);
    if (key === null) return undefined;
    const end = this.underWay.get(key);
    this.underWay.delete(key);
    return end;
  }
}

/**
 * The server options for a site that requires client certificates. Its tickets are encrypted with keys derived for the site and the
 * rule, because the library treats a resumed session as one with a verified certificate.
 */
function optionsFor({ ca, rule, domain }: ClientAuth, names: readonly string[], ticketKeys: Buffer | null): TlsOptions {
  const purpose = `client certificates\n${names.join()}\n${domain}\n${rule}`;
  return {
    requestCert: true,
    rejectUnauthorized: true,
    ca,
    sessionTimeout: VERIFIED_TICKET_SECS,
    sessionIdContext: createHash('sha256').update(purpose).digest('hex').slice(0, 32),
    ...(ticketKeys !== null && { ticketKeys: Buffer.from(hkdfSync('sha256', ticketKeys, '', purpose, TICKET_KEY_BYTES)) }),
  };
}

/**
 * A key that is unique among open connections; null for one that the client has reset, whose address is no longer known: all of those would
 * have the same key, and the handshake of one would be completed by another.
 */
const keyOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string | null =>
  remoteAddress === undefined ? null : `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
