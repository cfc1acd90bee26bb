import type { Exchange } from '../exchange/exchange.ts';
import type { Blocks, CompiledBlock } from './compiled-route.ts';

/** A few blocks, which are all compiled with their route and tried one after the other. */
export class ListedBlocks implements Blocks {
  private readonly blocks: readonly CompiledBlock[];

  constructor(blocks: readonly CompiledBlock[]) {
    this.blocks = blocks;
  }

  choose(x: Exchange): CompiledBlock | null {
    for (const block of this.blocks) {
      if (block.pattern !== null && !block.pattern.matches(x.path)) continue;
      if (block.condition === null || block.condition.matches(x.path, x)) return block;
    }
    return null;
  }

  compiled(): Iterable<CompiledBlock> {
    return this.blocks;
  }

  naming(): Iterable<CompiledBlock> {
    return this.blocks;
  }
}
