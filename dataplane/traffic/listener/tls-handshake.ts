import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { refusal } from '../client/http1/refusal.ts';
import type { TlsFacts } from '../exchange/exchange.ts';
import { type Faults, guard, guarded } from '../exchange/faults.ts';
import type { AcceptedReader } from '../io/accepted-reader.ts';
import { AcceptedSocket } from '../io/accepted-socket.ts';
import { AcceptedTls } from '../io/accepted-tls.ts';
import { AppendBuffer } from '../io/append-buffer.ts';
import { ReadBuffer } from '../io/read-buffer.ts';
import type { ServerTls } from '../io/server-tls.ts';
import type { IdleClose } from '../protocol.ts';
import type { PresentedCertificate } from './certificates.ts';
import type { HandshakeQueue } from './handshake-queue.ts';
import { type Hello, MAX_HELLO, readHello } from './hello.ts';
import { factsOfSocket, tlsFacts } from './tls-facts.ts';
import { ACME_TLS_PROTOCOL, HANDSHAKE_MS, type TlsServers } from './tls-servers.ts';

/** Time limit for the ClientHello (ms). */
const HELLO_MS = 5_000;
/** How long a handshake waits for a certificate that is being ordered (ms). */
const EXPECTED_MS = 15_000;
/** How many bytes of the ClientHello are passed to TLS at once. */
const PIECE = 1_000;
/** How long a client may take to read the alert after a failed handshake (ms). */
const LINGER_MS = 2_000;
const NEVER = Number.POSITIVE_INFINITY;
const NOTHING = Buffer.alloc(0);

/** Fatal alerts in a record of their own (RFC 8446 6, RFC 6066 3). */
const alert = (description: number): Buffer => Buffer.from([21, 3, 3, 0, 2, 2, description]);
const DECODE_ERROR = alert(50);
const INTERNAL_ERROR = alert(80);
const UNRECOGNIZED_NAME = alert(112);
const NO_APPLICATION_PROTOCOL = alert(120);
const NO_CERTIFICATE = 'there is no certificate for the name';

export type HandshakeTools = {
  monotonic(): number;
  readonly faults: Faults;
  /** The certificate for a name, or for a client that sent none. */
  find(hello: Hello): PresentedCertificate | null;
  /** The function that takes over the connection if TLS is not terminated here; null if it is. `head` is the part that has been read. */
  passthrough(hello: Hello): ((handshake: TlsHandshake, socket: Socket, head: Buffer) => void) | null;
  /** The certificate for an authority's challenge of the name; null if none is pending. */
  findChallenge(name: string): PresentedCertificate | null;
  /** Whether the name will have a certificate soon, and there is room to wait for it. */
  mayWait(handshake: TlsHandshake, hello: Hello): boolean;
  readonly tlsServers: TlsServers;
  /** Where handshakes wait for their turn. */
  readonly queue: HandshakeQueue;
  /** The handshake is complete; from here on the socket is a connection like any other. */
  done(handshake: TlsHandshake, socket: AcceptedSocket, facts: TlsFacts, presented: PresentedCertificate): void;
  /** The connection ended before that. `reason` is empty if the client just left. */
  gone(handshake: TlsHandshake, reason: string): void;
};

/** A connection before its TLS handshake is complete: the ClientHello is read first, since its name selects the certificate and rules. */
export class TlsHandshake implements AcceptedReader {
  private readonly socket: AcceptedSocket;
  private readonly tools: HandshakeTools;
  private deadline: number;
  private gathering = new AppendBuffer();
  private gathered: Buffer = NOTHING;
  /** How many bytes the ClientHello takes at least. */
  private needs = 1;
  private reason = '';
  private lingering = false;
  /** Its ClientHello, while it waits for a certificate. */
  private waitsFor: Hello | null = null;
  /** Whether it waits for its turn. */
  private queued = false;
  /** The handshake itself, if it is without a stream. */
  private tls: ServerTls | null = null;
  /** Whether the ClientHello has been read, or refused. */
  private over = false;

  constructor(socket: AcceptedSocket, tools: HandshakeTools) {
    this.socket = socket;
    this.tools = tools;
    this.deadline = tools.monotonic() + HELLO_MS;
    socket.read(this);
  }

  nextBuffer(): Buffer {
    return ReadBuffer.common;
  }

  onEnd(): void {
    this.socket.destroy();
  }

  onDrain(): void {
    // Nothing waits for that.
  }

  onClose(): void {
    this.leave();
  }

  sweep(now: number): void {
    if (now < this.deadline) return;
    if (this.waitsFor !== null) return this.refuse(UNRECOGNIZED_NAME, NO_CERTIFICATE);
    if (!this.lingering) this.reason = 'the handshake took too long';
    this.end();
  }

  private end(): void {
    if (this.tls === null) this.socket.destroy();
    else this.tls.destroy();
  }

  /** The worker shuts down: a connection that has sent nothing yet is an idle one. */
  drain(idleClose: IdleClose): void {
    if (this.gathered.length === 0 && idleClose === 'now') this.end();
  }

  receive(chunk: Buffer): void {
    if (this.over) return;
    this.gathered = this.gathering.join(this.gathered, chunk);
    if (this.queued) return this.socket.pause();
    if (this.gathered.length < this.needs) return;
    const reading = readHello(this.gathered);
    // However small its pieces are, it is parsed a few times, and once more as soon as it is complete.
    if (reading.kind === 'partial') this.needs = Math.min(reading.needs, MAX_HELLO + 1);
    else if (reading.kind === 'hello') this.choose(reading.hello);
    else if (reading.kind === 'malformed') this.refuse(DECODE_ERROR, reading.reason);
    else if (reading.kind === 'plain') this.refuse(refusal(400, 'this port serves HTTPS: use https:// in the address'), 'plain HTTP');
  }

  private choose(hello: Hello): void {
    const pass = this.tools.passthrough(hello);
    // The target may get its certificate by the same kind of challenge.
    if (pass !== null && !(isChallenge(hello) && this.challengeFor(hello.serverName) !== null)) return this.passOn(pass);
    if (isChallenge(hello)) return this.answerChallenge(hello);
    const presented = this.tools.find(hello);
    if (presented !== null) return this.enqueue(presented, hello);
    if (!this.tools.mayWait(this, hello)) return this.refuse(UNRECOGNIZED_NAME, NO_CERTIFICATE);
    if (this.waitsFor === null) this.deadline = this.tools.monotonic() + EXPECTED_MS;
    this.waitsFor = hello;
    this.socket.pause();
  }

  /** RFC 8737 3: a challenge that is not pending is refused. */
  private answerChallenge(hello: Hello): void {
    const presented = this.challengeFor(hello.serverName);
    if (presented !== null) this.enqueue(presented, hello);
    else this.refuse(NO_APPLICATION_PROTOCOL, 'no challenge is pending for the name');
  }

  private challengeFor(name: string | null): PresentedCertificate | null {
    return name === null ? null : this.tools.findChallenge(name);
  }

  private passOn(pass: (handshake: TlsHandshake, socket: Socket, head: Buffer) => void): void {
    pass(this, this.socket.handOver(), this.gathered);
  }

  /** The certificates have changed, or different ones are expected. */
  certificatesChanged(): void {
    if (this.waitsFor !== null) this.choose(this.waitsFor);
  }

  private enqueue(presented: PresentedCertificate, hello: Hello): void {
    this.waitsFor = null;
    this.queued = true;
    // The client has done its part: that others come before it is not its fault.
    this.deadline = NEVER;
    this.tools.queue.add({ run: () => guard<TlsHandshake, PresentedCertificate, Hello>(this, this.startHandshake, presented, hello) });
  }

  private startHandshake(presented: PresentedCertificate, { serverName }: Hello): void {
    const { tools, gathered, socket } = this;
    this.queued = false;
    // The client has left meanwhile.
    if (socket.destroyed) return;
    this.over = true;
    // Frees the bytes that were read, because the connection may last for days.
    this.gathered = NOTHING;
    this.gathering = new AppendBuffer();
    this.tls = tools.tlsServers.secure(socket, presented, {
      secured: (tls) => tools.done(this, new AcceptedTls(tls), tlsFacts(tls.negotiated, serverName, null), presented),
      failed: (reason) => {
        this.reason = reason;
      },
      closed: this.closed,
      onFault: (error) => this.onFault(error),
    });
    this.deadline = this.tls === null ? NEVER : tools.monotonic() + HANDSHAKE_MS;
    if (this.tls === null) this.startOnStream(presented, serverName, gathered);
    else this.tls.begin(gathered);
  }

  /** The same with streams: for client certificate rules, for challenges, and for connections that have a stream anyway. */
  private startOnStream(presented: PresentedCertificate, serverName: string | null, gathered: Buffer): void {
    const { tools } = this;
    // Paused, so that the bytes put back wait for the next reader.
    const socket = this.socket.release();
    socket.unshift(gathered);
    readInPieces(socket);
    const release = presented.auth === null ? null : this.lingerOnce(socket);
    const begun = tools.tlsServers.begin(socket, presented, {
      done: guarded(this, (secure) => {
        release?.();
        if (presented.published.challenge === true) return this.dismiss(secure);
        this.socket.forget();
        tools.done(this, AcceptedSocket.ofStream(secure), factsOfSocket(secure, serverName, presented.auth !== null), presented);
      }),
      failed: (reason) => {
        this.reason = reason;
      },
    });
    if (!begun) this.refuse(INTERNAL_ERROR, 'its certificate cannot be used');
  }

  /**
   * If the site requires client certificates, the handshake can fail after the client has sent everything, perhaps even a request. The
   * library closes the connection at once, and with unread input that becomes a reset, which could discard the alert before the client
   * reads it. The library may not even have written the alert: it takes what it wrote before for incomplete until the next turn of the
   * event loop. @returns a function that restores the library's behavior, for when the handshake can't fail any more.
   */
  private lingerOnce(socket: Socket): () => void {
    const { tools } = this;
    const { destroy } = socket;
    const release = (): void => {
      socket.destroy = destroy;
    };
    socket.destroy = () => {
      release();
      this.lingering = true;
      this.deadline = tools.monotonic() + LINGER_MS;
      setImmediate(() => socket.end());
      return socket;
    };
    return release;
  }

  /** The authority's challenge is answered; nothing more is exchanged. */
  private dismiss(secure: TLSSocket): void {
    this.deadline = this.tools.monotonic() + HELLO_MS;
    secure.on('error', this.ended).resume().end();
  }

  private refuse(answer: Buffer | string, reason: string): void {
    const { socket } = this.socket;
    this.reason = reason;
    this.waitsFor = null;
    this.over = true;
    this.deadline = this.tools.monotonic() + HELLO_MS;
    socket.end(answer);
    // Further input is discarded, so that the response is not lost to a reset.
    this.socket.resume();
  }

  private readonly ended = (): void => this.end();

  private readonly closed = (): void => guard(this, this.leave);

  private leave(): void {
    this.tools.gone(this, this.reason);
  }

  onFault(error: unknown): void {
    const { socket, tools, tls } = this;
    tools.faults.note('connection', error);
    if (tls !== null) tools.faults.step(() => tls.destroy());
    else if (socket.destroyed) tools.faults.step(() => tools.gone(this, ''));
    else tools.faults.step(() => socket.cut());
  }
}

/** RFC 8737 3: an authority's challenge offers this protocol and no other. */
const isChallenge = ({ protocols }: Hello): boolean => protocols.length === 1 && protocols[0] === ACME_TLS_PROTOCOL;

/** Pieces are small because the library, after one of more than 1,023 bytes, holds 16 KB for as long as the connection lasts. */
function readInPieces(socket: Socket): void {
  const { read } = socket;
  socket.read = (size = Math.min(PIECE, socket.readableLength)) => read.call(socket, size);
}
