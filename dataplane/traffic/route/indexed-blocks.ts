import { mirrorsIn } from '../../../shared/policy/mirror/effective.ts';
import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import { ownPool } from '../../../shared/upstreams/pools.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { BlockIndex } from '../match/block-index.ts';
import { compileCondition, type Test } from '../match/condition.ts';
import type { TextRange } from '../match/json-elements.ts';
import { folded, foldedPattern } from '../match/pattern.ts';
import { type BlockTraits, traitsOf } from './block-traits.ts';
import type { Blocks, CompiledBlock } from './compiled-route.ts';

/** The JSON of a block, as a part of its route's. */
export type BlockText = TextRange & { readonly bytes: Buffer };

const parsed = ({ bytes, from, to }: BlockText): HandleSpec => JSON.parse(bytes.toString('utf8', from, to));

/** The properties of a block that are known without its JSON. Everything else is read when it is needed. */
export class LazyBlock {
  private text: BlockText;
  /** The patterns of the paths that it may match, in the form in which they are compared; null for any path. */
  readonly patterns: readonly string[] | null;
  /** The addresses of its targets. */
  readonly addresses: readonly string[];
  readonly traits: BlockTraits;
  private readonly folds: boolean;
  private readonly isConditional: boolean;
  private condition: Test | null = null;
  compiled: CompiledBlock | null = null;

  private constructor(
    text: BlockText,
    known: Pick<LazyBlock, 'patterns' | 'addresses' | 'traits'>,
    folds: boolean,
    isConditional: boolean,
  ) {
    this.text = text;
    this.patterns = known.patterns;
    this.addresses = known.addresses;
    this.traits = known.traits;
    this.folds = folds;
    this.isConditional = isConditional;
  }

  /** Reads a block of a route; `route` has no blocks itself. */
  static read(text: BlockText, route: RouteSpec, folds: boolean): LazyBlock {
    const handle = parsed(text);
    const { path, match } = handle;
    // An expression or a suffix may match any path.
    const written = path === null ? match?.path?.every((one) => one.startsWith('/')) && match.path : [path];
    const patterns = written ? written.map((one) => foldedPattern(one, folds)) : null;
    const pools = [ownPool(route, handle) ?? { upstreams: [] }, ...mirrorsIn(route, handle)];
    const addresses = pools.flatMap(({ upstreams }) => upstreams.map(({ address }) => address));
    const traits = traitsOf({ ...route, handles: [handle] });
    return new LazyBlock(text, { patterns, addresses, traits }, folds, match !== undefined);
  }

  /** The same block in another text, for another place in a route or for a route that shares no pools with this one. */
  at(text: BlockText): LazyBlock {
    return new LazyBlock(text, this, this.folds, this.isConditional);
  }

  /** The same block at the same place, in another text: the earlier one must not be kept for a block that has not changed. */
  keep(text: BlockText): this {
    this.text = text;
    return this;
  }

  copy(): LazyBlock {
    return this.at(this.text);
  }

  isSame({ bytes, from, to }: BlockText): boolean {
    const { text } = this;
    return to - from === text.to - text.from && bytes.compare(text.bytes, text.from, text.to, from, to) === 0;
  }

  spec(): HandleSpec {
    return parsed(this.text);
  }

  /** Whether a request matches whose path one of the patterns matches. */
  matches(x: Exchange): boolean {
    if (!this.isConditional) return true;
    if (this.condition === null) {
      const { match } = this.spec();
      this.condition = match === undefined ? () => true : compileCondition(match, this.folds);
    }
    return this.condition(x.path, x);
  }
}

/** Many blocks, found by their paths and compiled when they are first used. */
export class IndexedBlocks implements Blocks {
  readonly all: readonly LazyBlock[];
  private readonly index: BlockIndex;
  private readonly compile: (handle: HandleSpec, nth: number) => CompiledBlock;
  private readonly folds: boolean;
  /** The blocks by the addresses of their targets, computed when first needed. */
  private byAddress: ReadonlyMap<string, readonly number[]> | null = null;

  constructor(all: readonly LazyBlock[], index: BlockIndex, folds: boolean, compile: (handle: HandleSpec, nth: number) => CompiledBlock) {
    this.all = all;
    this.index = index;
    this.folds = folds;
    this.compile = compile;
  }

  choose(x: Exchange): CompiledBlock | null {
    const path = this.folds ? folded(x.path) : x.path;
    const nth = this.index.first(path, (candidate) => (this.all[candidate] as LazyBlock).matches(x));
    return nth < 0 ? null : this.at(nth);
  }

  *compiled(): Generator<CompiledBlock> {
    for (const { compiled } of this.all) if (compiled !== null) yield compiled;
  }

  *naming(address: string): Generator<CompiledBlock> {
    this.byAddress ??= numbersByAddress(this.all);
    for (const nth of this.byAddress.get(address) ?? []) yield this.at(nth);
  }

  private at(nth: number): CompiledBlock {
    const block = this.all[nth] as LazyBlock;
    block.compiled ??= this.compile(block.spec(), nth);
    return block.compiled;
  }
}

function numbersByAddress(blocks: readonly LazyBlock[]): Map<string, number[]> {
  const numbers = new Map<string, number[]>();
  for (const [nth, { addresses }] of blocks.entries())
    for (const address of addresses) {
      const some = numbers.get(address);
      if (some === undefined) numbers.set(address, [nth]);
      else if (some.at(-1) !== nth) some.push(nth);
    }
  return numbers;
}
