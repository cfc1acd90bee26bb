import assert from 'node:assert/strict';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { until } from '../../../shared/runtime/testing/until.ts';
import { type RunningAdmin, TOKEN } from './running-admin.ts';

export const NDJSON = { 'content-type': 'application/x-ndjson' };
export type Line = Record<string, unknown>;

export const header = (revision: number | string, more: object = {}) => ({
  apply: { controller: 'c', epoch: 1, revision, based_on: null, sources: ['file'], ...more },
});
export const route = (domain: string, more: object = {}) => ({
  route: { domain, upstream: '127.0.0.1:80', tls: false, source: 'file', ...more },
});
export const text = (...lines: Line[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
export const frame = (revision: number | string, ...lines: Line[]): string => text(header(revision), ...lines, { end: { revision } });

/** An apply stream that stays open: lines in, lines out. */
export class StreamClient {
  readonly call: ClientRequest;
  readonly lines: Line[] = [];
  status = 0;
  blanks = 0;
  ended = false;
  /** Whether the response ended cleanly: false if it was cut off. */
  whole = false;

  constructor(api: RunningAdmin) {
    this.call = request({
      host: '127.0.0.1',
      port: api.port,
      method: 'POST',
      path: '/routes',
      agent: false,
      headers: { ...NDJSON, authorization: `Bearer ${TOKEN}` },
    });
    this.call.on('error', () => {
      this.ended = true;
    });
    this.call.on('response', (response: IncomingMessage) => {
      this.status = response.statusCode ?? 0;
      let partial = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        const parts = (partial + piece).split('\n');
        partial = parts.pop() ?? '';
        for (const part of parts) {
          if (part === '') this.blanks++;
          else this.lines.push(JSON.parse(part) as Line);
        }
      });
      response.on('end', () => {
        this.whole = response.complete;
      });
      for (const event of ['end', 'close', 'error'])
        response.on(event, () => {
          this.ended = true;
        });
    });
    this.call.flushHeaders();
  }

  write(body: string): this {
    this.call.write(body);
    return this;
  }

  /** Waits for a line that has this member. */
  async next(member: string): Promise<Line> {
    await until(member, () => this.lines.some((line) => member in line) || this.ended);
    const at = this.lines.findIndex((line) => member in line);
    assert.ok(at >= 0, `no "${member}" before the end: ${JSON.stringify(this.lines)}`);
    return this.lines.splice(at, 1)[0]?.[member] as Line;
  }

  close(): void {
    this.call.destroy();
  }
}
