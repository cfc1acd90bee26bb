import { normalizedPath } from '../../shared/path.ts';
import { answer, NO_BLOCK, NO_ROUTE, type OwnAnswer } from './answer.ts';
import type { Exchange } from './exchange.ts';
import { blockFor, type CompiledBlock } from './match/compile.ts';
import type { HostIndex } from './match/host-index.ts';
import { rawPath } from './match/path.ts';
import type { PolicyTools } from './policy/order.ts';
import type { Forwarder } from './upstream/forward.ts';

/** THE REQUEST PATH: host → route → block → policies → upstream. What comes back goes through `x.client`. */
export class Server {
  private readonly index: HostIndex;
  private readonly tools: PolicyTools;
  private readonly forwarder: Forwarder;

  constructor(index: HostIndex, tools: PolicyTools, forwarder: Forwarder) {
    this.index = index;
    this.tools = tools;
    this.forwarder = forwarder;
  }

  serve(x: Exchange): void {
    const route = this.index.find(x.host);
    if (route === null) return answer(x, NO_ROUTE);
    x.route = route;
    x.path = normalizedPath(rawPath(x.target));
    const block = blockFor(route, x);
    if (block === null) return answer(x, NO_BLOCK);
    x.block = block;
    const own = this.decide(x, block);
    if (own !== null) return answer(x, own);
    if (block.pool === null) return answer(x, NO_BLOCK);
    this.forwarder.forward(x, block.pool);
  }

  private decide(x: Exchange, block: CompiledBlock): OwnAnswer | null {
    for (const policy of block.policies) {
      const own = policy.decide(x, this.tools);
      if (own !== null) return own;
    }
    return null;
  }
}
