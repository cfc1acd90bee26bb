import { TurnoverMap } from '../../../shared/runtime/turnover-map.ts';
import type { OpenConnection, PeekedConnection } from '../client/client-tools.ts';
import { guarded } from '../exchange/faults.ts';
import { type AnswerSink, InternalExchange } from '../exchange/internal-exchange.ts';
import type { PassedResult } from '../protocol.ts';
import type { CompiledRoute, Passthrough } from '../route/compiled-route.ts';
import type { Pool } from '../upstream/pool/pool.ts';
import { OwnConnections } from './own-connections.ts';
import { PassedConnection, type PassedTools } from './passed-connection.ts';

export type PassthroughTools = Pick<PassedTools, 'faults' | 'monotonic' | 'now'> & {
  /** Counts a connection of a route, by its domain. */
  passed(pattern: string, result: PassedResult): void;
  moved(pattern: string, received: number, sent: number): void;
};

/** The TLS connections of one worker that are passed on to targets. */
export class Passthroughs {
  private readonly tools: PassthroughTools;
  /** Each with the domain of its route. */
  private readonly connections = new TurnoverMap<PassedConnection, string>();
  private readonly own = new OwnConnections<Passthrough>();

  constructor(tools: PassthroughTools) {
    this.tools = tools;
  }

  /** Takes over a connection whose ClientHello names this host. */
  begin({ domain }: CompiledRoute, passthrough: Passthrough, host: string, arrived: PeekedConnection): OpenConnection {
    const { faults, monotonic, now, passed, moved } = this.tools;
    const tools = {
      faults,
      monotonic: () => monotonic(),
      now: () => now(),
      passed: (result: PassedResult) => faults.step(() => passed(domain, result)),
      moved: (received: number, sent: number) => faults.step(() => moved(domain, received, sent)),
    };
    let connection: PassedConnection | null = null;
    const closed = (ended: OpenConnection): void => {
      if (connection !== null) this.connections.delete(connection);
      arrived.closed(ended);
    };
    const own: PeekedConnection = { ...arrived, closed };
    // Pools choose targets for exchanges.
    const standIn = new InternalExchange(
      requestFor(host, arrived),
      NO_ANSWER,
      {
        respond: (x) => {
          connection = new PassedConnection(own, passthrough, x, tools, this.own);
        },
        explain: () => ({ answeredBy: null, words: '' }),
      },
      { faults, monotonic: () => monotonic() },
    );
    standIn.start();
    if (connection === null) throw new Error('no connection was made');
    const made: PassedConnection = connection;
    this.connections.set(made, domain);
    guarded(made, () => made.start())();
    return made;
  }

  /** The table has been swapped: connections whose target no longer belongs to their route are ended after a while. */
  tableChanged(poolsOf: (domain: string, address: string) => Iterable<Pool>): void {
    for (const [connection, domain] of this.connections) guarded(connection, () => check(connection, domain, poolsOf))();
  }
}

function check(connection: PassedConnection, domain: string, poolsOf: (domain: string, address: string) => Iterable<Pool>): void {
  const { endpoint } = connection;
  if (endpoint === null) return;
  for (const pool of poolsOf(domain, endpoint.address)) if (pool.keeps(endpoint)) return connection.cancelClose();
  connection.closeLater();
}

const requestFor = (host: string, { address, localPort }: PeekedConnection) => ({
  ...{ method: 'CONNECT', target: host, host, hostField: host, fields: '', forwarding: '', hops: 0, body: null },
  ...{ address, port: localPort, local: null, secure: true, bindsConnection: false },
});

/** Nothing responds to it. */
const NO_ANSWER: AnswerSink = { head: () => undefined, body: () => true, end: () => undefined, failed: () => undefined };
