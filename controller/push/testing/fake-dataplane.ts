import { EventEmitter, once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { AdminAddress } from '../../../shared/api/admin-address.ts';
import type { RouteSpec } from '../../../shared/route.ts';
import type { Apply, CertificateOutcome, Problem, ReloadOutcome, Remove, RouteCondition, StreamLine } from '../../../shared/wire/apply.ts';

/** A frame as received. */
export type ReceivedFrame = {
  apply: Apply;
  routes: RouteSpec[];
  /** The domains of each. */
  certificates: (readonly string[])[];
  removes: Remove[];
  problems: Problem[];
  conditions: RouteCondition[];
  settings: object | undefined;
  reload: ReloadOutcome | undefined;
};

type Line = Partial<{
  apply: Apply;
  route: RouteSpec;
  certificate: { domains: readonly string[] };
  remove: Remove;
  problem: Problem;
  condition: RouteCondition;
  settings: object;
  reload: ReloadOutcome;
  end: object;
}>;

/** The other end of an apply stream, for tests: it receives frames and responds as configured. */
export class FakeDataplane {
  readonly heard: ReceivedFrame[] = [];
  /** Blank lines that arrived between frames. */
  blanks = 0;
  instance = 'one';
  /** The kinds of lines that it announces; undefined: none, like data planes from before these existed. */
  accepts: readonly string[] | undefined;
  streams = 0;
  /** How often it was asked which process it is. */
  asked = 0;
  /** The response; undefined: none. */
  answer: (frame: ReceivedFrame) => StreamLine | undefined = (frame) => this.applied(frame);
  private readonly server: Server;
  private readonly news = new EventEmitter();
  private response: ServerResponse | undefined;

  constructor() {
    this.server = createServer((request, response) => {
      if (request.method === 'GET') {
        this.asked += 1;
        return void response.end(JSON.stringify({ instance: this.instance }));
      }
      this.streams += 1;
      this.response = response;
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      let frame: ReceivedFrame | undefined;
      const lines = createInterface({ input: request });
      // Interrupted streams are the subject of some tests.
      for (const end of [request, lines]) end.on('error', () => lines.close());
      lines.on('line', (text) => {
        if (text === '') this.blanks += 1;
        else frame = this.receive(frame, JSON.parse(text) as Line);
        this.news.emit('news');
      });
      this.news.emit('news');
    });
  }

  async listen(where: number | string = 0): Promise<AdminAddress> {
    if (typeof where === 'string') this.server.listen(where);
    else this.server.listen(where, '127.0.0.1');
    await once(this.server, 'listening');
    if (typeof where === 'string') return { kind: 'unix', path: where };
    return { kind: 'tcp', host: '127.0.0.1', port: (this.server.address() as AddressInfo).port };
  }

  applied(
    frame: ReceivedFrame,
    results: { domain: string; result: 'rejected' | 'conflicted' | 'added'; reason?: string }[] = [],
    certificates?: readonly CertificateOutcome[],
  ): StreamLine {
    const outcomes = frame.routes.map(({ domain }) => results.find((one) => one.domain === domain) ?? { domain, result: 'added' as const });
    return {
      applied: {
        instance: this.instance,
        revision: frame.apply.revision,
        generation: 1,
        results: outcomes,
        removed: frame.removes.map(({ domain }) => domain),
        ...(certificates && { certificates }),
        ...(this.accepts && { accepts: this.accepts }),
      },
    };
  }

  send(line: StreamLine): void {
    this.response?.write(`${JSON.stringify(line)}\n`);
  }

  /** Cuts the open stream as a crash would. */
  cut(): void {
    this.response?.socket?.destroy();
  }

  /** Ends the open stream in good order. */
  end(): void {
    this.response?.end();
  }

  /** The frame with this number, from 0, once it has arrived. */
  async frame(number: number): Promise<ReceivedFrame> {
    await this.until(() => this.heard.length > number);
    return this.heard[number] as ReceivedFrame;
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await once(this.news, 'news');
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private receive(frame: ReceivedFrame | undefined, line: Line): ReceivedFrame | undefined {
    if (line.apply)
      return {
        apply: line.apply,
        routes: [],
        certificates: [],
        removes: [],
        problems: [],
        conditions: [],
        settings: undefined,
        reload: undefined,
      };
    if (!frame) throw new Error('a line before its frame');
    if (line.route) frame.routes.push(line.route);
    if (line.certificate) frame.certificates.push(line.certificate.domains);
    if (line.remove) frame.removes.push(line.remove);
    if (line.problem) frame.problems.push(line.problem);
    if (line.condition) frame.conditions.push(line.condition);
    if (line.settings) frame.settings = line.settings;
    if (line.reload) frame.reload = line.reload;
    if (!line.end) return frame;
    this.heard.push(frame);
    const answer = this.answer(frame);
    if (answer) this.send(answer);
    return undefined;
  }
}
