import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { refusal } from '../client/http1/refusal.ts';
import { type Faults, guard, guarded } from '../exchange/faults.ts';
import { AppendBuffer } from '../io/append-buffer.ts';
import type { PresentedCertificate } from './certificates.ts';
import { type Hello, MAX_HELLO, readHello } from './hello.ts';
import { ACME_TLS_PROTOCOL, type TlsServers } from './tls-servers.ts';

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
  find(hello: Hello, socket: Socket): PresentedCertificate | null;
  /** The function that takes over the connection if TLS is not terminated here; null if it is. `head` is the part that has been read. */
  passthrough(hello: Hello, socket: Socket): ((handshake: TlsHandshake, head: Buffer) => void) | null;
  /** The certificate for an authority's challenge of the name; null if none is pending. */
  findChallenge(name: string): PresentedCertificate | null;
  /** Whether the name will have a certificate soon, and there is room to wait for it. */
  mayWait(handshake: TlsHandshake, hello: Hello): boolean;
  readonly tlsServers: TlsServers;
  /** The handshake is complete; from here on the socket is a connection like any other. */
  done(handshake: TlsHandshake, socket: TLSSocket, presented: PresentedCertificate): void;
  /** The connection ended before that. `reason` is empty if the client just left. */
  gone(handshake: TlsHandshake, reason: string): void;
};

/** A connection before its TLS handshake is complete: the ClientHello is read first, since its name selects the certificate and rules. */
export class TlsHandshake {
  private readonly socket: Socket;
  private readonly tools: HandshakeTools;
  private deadline: number;
  private gathering = new AppendBuffer();
  private gathered: Buffer = NOTHING;
  private reason = '';
  private lingering = false;
  /** Its ClientHello, while it waits for a certificate. */
  private waitsFor: Hello | null = null;

  constructor(socket: Socket, tools: HandshakeTools) {
    this.socket = socket;
    this.tools = tools;
    this.deadline = tools.monotonic() + HELLO_MS;
    socket.on('data', this.read);
    socket.on('end', this.ended);
    socket.on('error', this.ended);
    socket.on('close', this.closed);
    // It is paused if a PROXY header was in front.
    socket.resume();
  }

  sweep(now: number): void {
    if (now < this.deadline) return;
    if (this.waitsFor !== null) return this.refuse(UNRECOGNIZED_NAME, NO_CERTIFICATE);
    if (!this.lingering) this.reason = 'the handshake took too long';
    this.socket.destroy();
  }

  /** The worker shuts down: a connection that has sent nothing yet ends now, unless `patient`. */
  drain(patient: boolean): void {
    if (this.gathered.length === 0 && !patient) this.socket.destroy();
  }

  private readonly read = (chunk: Buffer): void => guard(this, this.receive, chunk);

  private receive(chunk: Buffer): void {
    this.gathered = this.gathering.join(this.gathered, chunk);
    if (!this.gathering.shouldParse(this.gathered.length) && this.gathered.length <= MAX_HELLO) return;
    const reading = readHello(this.gathered);
    if (reading.kind === 'hello') this.choose(reading.hello);
    else if (reading.kind === 'malformed') this.refuse(DECODE_ERROR, reading.reason);
    else if (reading.kind === 'plain') this.refuse(refusal(400, 'this port serves HTTPS: use https:// in the address'), 'plain HTTP');
  }

  private choose(hello: Hello): void {
    const pass = this.tools.passthrough(hello, this.socket);
    // The target may get its certificate by the same kind of challenge.
    if (pass !== null && !(isChallenge(hello) && this.challengeFor(hello.serverName) !== null)) return this.handOn(pass);
    if (isChallenge(hello)) return this.answerChallenge(hello.serverName);
    const presented = this.tools.find(hello, this.socket);
    if (presented !== null) return this.startHandshake(presented);
    if (!this.tools.mayWait(this, hello)) return this.refuse(UNRECOGNIZED_NAME, NO_CERTIFICATE);
    if (this.waitsFor === null) this.deadline = this.tools.monotonic() + EXPECTED_MS;
    this.waitsFor = hello;
    this.socket.pause();
  }

  /** RFC 8737 3: a challenge that is not pending is refused. */
  private answerChallenge(name: string | null): void {
    const presented = this.challengeFor(name);
    if (presented !== null) this.startHandshake(presented);
    else this.refuse(NO_APPLICATION_PROTOCOL, 'no challenge is pending for the name');
  }

  private challengeFor(name: string | null): PresentedCertificate | null {
    return name === null ? null : this.tools.findChallenge(name);
  }

  private handOn(pass: (handshake: TlsHandshake, head: Buffer) => void): void {
    const { socket } = this;
    socket.pause();
    socket.off('data', this.read).off('end', this.ended).off('error', this.ended).off('close', this.closed);
    pass(this, this.gathered);
  }

  /** The certificates have changed, or different ones are expected. */
  certificatesChanged(): void {
    if (this.waitsFor !== null) this.choose(this.waitsFor);
  }

  private startHandshake(presented: PresentedCertificate): void {
    const { socket, tools } = this;
    this.waitsFor = null;
    this.deadline = NEVER;
    // Paused, so that the bytes put back wait for the next reader.
    socket.pause();
    socket.off('data', this.read).off('end', this.ended);
    socket.unshift(this.gathered);
    readInPieces(socket);
    // Frees the bytes that were read, because the connection may last for days.
    this.gathered = NOTHING;
    this.gathering = new AppendBuffer();
    const release = presented.auth === null ? null : this.lingerOnce();
    const begun = tools.tlsServers.begin(socket, presented, {
      done: guarded(this, (secure) => {
        release?.();
        if (presented.published.challenge === true) return this.dismiss(secure);
        socket.off('close', this.closed);
        tools.done(this, secure, presented);
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
   * reads it. @returns a function that restores the library's behavior, for when the handshake can't fail any more.
   */
  private lingerOnce(): () => void {
    const { socket, tools } = this;
    const { destroy } = socket;
    const release = (): void => {
      socket.destroy = destroy;
    };
    socket.destroy = () => {
      release();
      this.lingering = true;
      this.deadline = tools.monotonic() + LINGER_MS;
      return socket.end();
    };
    return release;
  }

  /** The authority's challenge is answered; nothing more is exchanged. */
  private dismiss(secure: TLSSocket): void {
    this.deadline = this.tools.monotonic() + HELLO_MS;
    secure.on('error', this.ended).resume().end();
  }

  private refuse(answer: Buffer | string, reason: string): void {
    const { socket } = this;
    this.reason = reason;
    this.waitsFor = null;
    this.deadline = this.tools.monotonic() + HELLO_MS;
    socket.off('data', this.read).off('end', this.ended);
    socket.end(answer);
    // Further input is discarded, so that the response is not lost to a reset.
    socket.resume().on('end', this.ended);
  }

  private readonly ended = (): void => {
    this.socket.destroy();
  };

  private readonly closed = (): void => guard(this, this.leave);

  private leave(): void {
    this.tools.gone(this, this.reason);
  }

  onFault(error: unknown): void {
    const { socket, tools } = this;
    tools.faults.note('connection', error);
    if (socket.destroyed) tools.faults.step(() => tools.gone(this, ''));
    else tools.faults.step(() => socket.resetAndDestroy());
  }
}

/** RFC 8737 3: an authority's challenge offers this protocol and no other. */
const isChallenge = ({ protocols }: Hello): boolean => protocols.length === 1 && protocols[0] === ACME_TLS_PROTOCOL;

/** Pieces are small because the library, after one of more than 1,023 bytes, holds 16 KB for as long as the connection lasts. */
function readInPieces(socket: Socket): void {
  const { read } = socket;
  socket.read = (size = Math.min(PIECE, socket.readableLength)) => read.call(socket, size);
}
