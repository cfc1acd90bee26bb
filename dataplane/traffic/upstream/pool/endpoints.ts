import { Http1Connections } from '../http1/connections.ts';
import { Http2Sessions } from '../http2/sessions.ts';
import type { TargetChannel } from '../target/channel.ts';
import { Endpoint, type EndpointTools, type TargetName } from '../target/endpoint.ts';

const channelTo = (endpoint: Endpoint): TargetChannel =>
  endpoint.transport.http2 ? new Http2Sessions(endpoint) : new Http1Connections(endpoint);

/** The endpoints of one worker, by address and transport. */
export class Endpoints {
  readonly tools: EndpointTools;
  private readonly byName = new Map<string, Endpoint>();
  /** Those whose time limits have to be checked. */
  private readonly inUse = new Set<Endpoint>();

  constructor(tools: EndpointTools) {
    this.tools = tools;
  }

  open(target: TargetName): Endpoint {
    const name = nameOf(target);
    let endpoint = this.byName.get(name);
    if (endpoint === undefined) {
      endpoint = new Endpoint(target, this.tools, channelTo, (used) => this.inUse.add(used));
      this.byName.set(name, endpoint);
      this.inUse.add(endpoint);
    }
    return endpoint;
  }

  sweep(now: number): void {
    for (const endpoint of this.inUse) {
      let idle = false;
      // A failure in one endpoint must not prevent the sweep of the others.
      this.tools.faults.step(() => {
        idle = endpoint.sweep(now);
      });
      if (!idle) continue;
      this.inUse.delete(endpoint);
      const name = nameOf(endpoint);
      if (endpoint.poolCount === 0 && this.byName.get(name) === endpoint) this.byName.delete(name);
    }
  }
}

const nameOf = ({ address, serverName, id, transport }: TargetName): string =>
  `${address} ${serverName ?? ''} ${transport.name}\n${id ?? ''}`;
