import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Clock } from '../runtime/clock.ts';
import { APPLY_CONTENT_TYPE, KEEP_ALIVE_MS, MAX_LINE_BYTES, SILENCE_MS, type StreamLine } from '../wire/apply.ts';
import type { AdminAddress } from './admin-address.ts';
import { AdminUnreachable, authorization, openRequest, UNAUTHORIZED } from './admin-client.ts';
import { reasonOf } from './connection-failure.ts';

/** An open apply stream: lines in both directions, until either side ends it. */
export type ApplyStream = {
  /** Sends whole lines, each ending in a line feed. Resolves when more may be written. @throws AdminUnreachable. */
  write(text: string): Promise<void>;
  /** Lines from the data plane, in order. Ends with the stream; throws AdminUnreachable if it broke. Can be iterated once. */
  readonly lines: AsyncIterable<StreamLine>;
  /** Ends the stream from this side; `lines` ends too. */
  close(): void;
};

/** Opens POST /routes as a stream. It returns before the connection is made; failures are thrown by `lines`. */
export function openApplyStream(options: { address: AdminAddress; token: string | undefined; clock: Clock }): ApplyStream {
  const { address, token, clock } = options;
  const incoming = new LineQueue();
  const sent = openRequest(address, {
    method: 'POST',
    path: '/routes',
    headers: { ...authorization(token), 'content-type': APPLY_CONTENT_TYPE },
  });
  let heard = clock.monotonic();
  const stop = clock.every(KEEP_ALIVE_MS / 4, () => {
    if (clock.monotonic() - heard > SILENCE_MS) finish(new AdminUnreachable(address, 'it sent nothing for 60 s', true));
  });
  const stopKeepAlive = clock.every(KEEP_ALIVE_MS, () => {
    if (!sent.writableNeedDrain) sent.write('\n');
  });
  const finish = (error?: AdminUnreachable) => {
    stop();
    stopKeepAlive();
    incoming.end(error);
    sent.destroy();
  };
  sent.on('error', (error) => finish(new AdminUnreachable(address, reasonOf(error, address))));
  sent.on('close', () => finish());
  sent.on('response', (response) => {
    if (response.statusCode === 401) return finish(new AdminUnreachable(address, UNAUTHORIZED));
    response.on('data', () => {
      heard = clock.monotonic();
    });
    readLines(response, incoming, (reason) => finish(new AdminUnreachable(address, reason)));
    response.on('end', () => finish());
    response.on('error', (error) => finish(new AdminUnreachable(address, reasonOf(error, address))));
  });
  sent.flushHeaders();
  return {
    write: (text) => writeText(sent, text, address),
    lines: incoming,
    close: () => finish(),
  };
}

function writeText(sent: ClientRequest, text: string, address: AdminAddress): Promise<void> {
  if (sent.destroyed) return Promise.reject(new AdminUnreachable(address, 'the stream is closed'));
  if (sent.write(text)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const drained = () => {
      sent.off('close', closed);
      resolve();
    };
    const closed = () => {
      sent.off('drain', drained);
      reject(new AdminUnreachable(address, 'the stream was closed while writing'));
    };
    sent.once('drain', drained);
    sent.once('close', closed);
  });
}

function readLines(response: IncomingMessage, queue: LineQueue, broken: (reason: string) => void): void {
  let rest = '';
  const handle = (line: string) => {
    if (line.trim() === '') return;
    const read = readLine(line, response.statusCode ?? 0);
    if (read) queue.push(read);
    else broken(`it answered with status ${response.statusCode}, but not with an apply stream`);
  };
  response.setEncoding('utf8');
  response.on('end', () => handle(rest));
  response.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    lines.forEach(handle);
    // The response line names every route of its frame, so it grows with the table. This limit is against a broken peer.
    if (rest.length > MAX_LINE_BYTES * 64) broken('a line of its response is too long');
  });
}

/** Parses a line of the stream. An error envelope becomes a refusal without a revision. */
function readLine(line: string, status: number): StreamLine | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return undefined;
    if ('error' in value) return { refused: { error: `${status}: ${String(value.error)}`, current: null } };
    return value as StreamLine;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Lines that have not been read yet. */
class LineQueue implements AsyncIterable<StreamLine> {
  private readonly waiting: StreamLine[] = [];
  private ended = false;
  private error: AdminUnreachable | undefined;
  private wake: (() => void) | undefined;

  push(line: StreamLine): void {
    if (this.ended) return;
    this.waiting.push(line);
    this.wake?.();
  }

  end(error?: AdminUnreachable): void {
    if (this.ended) return;
    this.ended = true;
    this.error = error;
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamLine> {
    for (;;) {
      const line = this.waiting.shift();
      if (line) yield line;
      else if (this.ended) break;
      else
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
    }
    if (this.error) throw this.error;
  }
}
