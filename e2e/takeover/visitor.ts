import { connect, type Socket } from 'node:net';

/** The outcome of one request: empty if it was answered, otherwise what happened instead. */
export type Outcome = string;

/** A response that takes longer than this (ms) counts as lost. */
const PATIENCE_MS = 60_000;
const HEAD_END = '\r\n\r\n';

/** Sends one request after another and never retries. */
export class Visitor {
  private readonly port: number;
  /** A separate loopback address for each visitor. */
  private readonly from: string;
  private readonly keeps: boolean;
  private socket: Socket | null = null;
  private received = '';
  private settle: (outcome: Outcome) => void = () => undefined;

  /** `keeps`: keeps its connection for as long as the server does; otherwise it opens one per request. */
  constructor(port: number, from: string, keeps: boolean) {
    this.port = port;
    this.from = from;
    this.keeps = keeps;
  }

  /** Sends one request. A connection that the server has closed in the meantime is replaced, since that was announced in time. */
  ask(host: string, path: string): Promise<Outcome> {
    return new Promise((resolve) => {
      const patience = setTimeout(() => this.finish('no answer'), PATIENCE_MS);
      this.settle = (outcome) => {
        clearTimeout(patience);
        resolve(outcome);
      };
      this.received = '';
      this.socket ??= this.open();
      this.socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: ${this.keeps ? 'keep-alive' : 'close'}\r\n\r\n`, 'latin1');
    });
  }

  leave(): void {
    this.socket?.destroy();
    this.socket = null;
  }

  private open(): Socket {
    const socket = connect({ host: '127.0.0.1', port: this.port, localAddress: this.from, noDelay: true });
    const gone = (why: string): void => {
      if (this.socket !== socket) return;
      this.finish(`${why} after ${this.received.length} bytes`);
    };
    socket.setEncoding('latin1').on('data', (text: string) => {
      if (this.socket === socket) this.read(text);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => gone(error.code ?? error.message));
    socket.on('end', () => gone('end'));
    return socket;
  }

  private read(text: string): void {
    this.received += text;
    const head = this.received.indexOf(HEAD_END);
    if (head < 0) return;
    const length = /^content-length: (\d+)/im.exec(this.received)?.[1];
    if (length === undefined) return this.finish('an answer without a length');
    if (this.received.length < head + HEAD_END.length + Number(length)) return;
    const status = this.received.slice(9, 12);
    const closes = /^connection: close/im.test(this.received.slice(0, head + 2));
    this.finish(status === '200' ? '' : status, !closes && this.keeps);
  }

  /** Ends the current request, if any, and the connection unless it is kept. */
  private finish(outcome: Outcome, kept = false): void {
    if (!kept) this.leave();
    const settle = this.settle;
    this.settle = () => undefined;
    settle(outcome);
  }
}
