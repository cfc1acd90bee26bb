import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import { BlockIndex } from '../match/block-index.ts';
import { elementsOf, type TextRange } from '../match/json-elements.ts';
import type { PackedEntry } from '../match/packed.ts';
import { foldsPaths } from '../match/pattern.ts';
import { compileAmbiguity } from './ambiguity.ts';
import { type BlockTraits, traitsOf } from './block-traits.ts';
import type { BlockContext, RouteCompiler } from './compile.ts';
import type { CompiledRoute } from './compiled-route.ts';
import { IndexedBlocks, LazyBlock } from './indexed-blocks.ts';

/** Blocks per piece: about 1 ms. */
const STEP = 100;

/** The parts that the next version of a large route may share with this one. */
type Prepared = { readonly siteText: string; readonly traits: BlockTraits; readonly context: BlockContext; readonly blocks: IndexedBlocks };

/**
 * Prepares large routes. Blocks are read only as far as it takes to find them, and compiled when they are used. Unchanged blocks are reused
 * with their pools.
 */
export class LargeRoutes {
  private readonly compiler: RouteCompiler;
  private readonly prepared = new WeakMap<CompiledRoute, Prepared>();

  constructor(compiler: RouteCompiler) {
    this.compiler = compiler;
  }

  /** `before` is the version that it replaces, if that has been compiled. */
  async prepare(entry: PackedEntry, before: CompiledRoute | null, nextTurn: () => Promise<void>): Promise<CompiledRoute> {
    const last = (before && this.prepared.get(before)) ?? null;
    const { bytes } = entry;
    const ranges: TextRange[] = [];
    const elements = elementsOf(bytes, entry, 'handles');
    let element = elements.next();
    for (; !element.done; element = elements.next()) {
      ranges.push(element.value);
      if (ranges.length % STEP === 0) await nextTurn();
    }
    const array = element.value;
    if (array === null || ranges.length === 0) return this.compiler.compile(entry.json());
    const siteText = `${bytes.toString('utf8', entry.from, array.from)}[]${bytes.toString('utf8', array.to, entry.to)}`;
    const route: RouteSpec = JSON.parse(siteText);
    const folds = foldsPaths(route);
    const same = last?.siteText === siteText ? last : null;
    const all = await this.read(bytes, ranges, route, same?.blocks.all ?? [], nextTurn);
    const index = new BlockIndex();
    let traits = traitsOf(route);
    for (const [nth, block] of all.entries()) {
      index.add(nth, block.patterns);
      traits |= block.traits;
      if (nth % STEP === 0) await nextTurn();
    }
    const kept = same?.traits === traits ? same : null;
    const context = kept?.context ?? this.compiler.contextOf(route, traits, true);
    // A block that has been compiled in another context has its pools there.
    const own = kept === null ? all.map((block) => (block.compiled === null ? block : block.copy())) : all;
    const compile = (handle: HandleSpec, nth: number) => this.compiler.block(context, handle, nth);
    const blocks = new IndexedBlocks(own, index, folds, compile);
    const whole = (): RouteSpec => ({ ...route, handles: own.map((block) => block.spec()) });
    const ambiguity = compileAmbiguity(traits, folds, whole);
    const compiled =
      kept === null || before === null ? this.compiler.routeOf(context, blocks, ambiguity) : { ...before, blocks, ambiguity };
    this.prepared.set(compiled, { siteText, traits, context, blocks });
    return compiled;
  }

  /** Blocks that have not changed are `known`: those before the first and after the last change. */
  private async read(
    bytes: Buffer,
    ranges: readonly TextRange[],
    route: RouteSpec,
    known: readonly LazyBlock[],
    nextTurn: () => Promise<void>,
  ): Promise<LazyBlock[]> {
    const folds = foldsPaths(route);
    const moved = known.length - ranges.length;
    let [first, last] = [0, ranges.length];
    const textAt = (nth: number) => ({ bytes, ...(ranges[nth] as TextRange) });
    const pause = async (nth: number) => {
      if (nth % STEP === 0) await nextTurn();
    };
    for (; first < last && known[first]?.isSame(textAt(first)); first++) await pause(first);
    for (; last > first && last + moved > first && known[last - 1 + moved]?.isSame(textAt(last - 1)); last--) await pause(last);
    const all: LazyBlock[] = [];
    for (let nth = 0; nth < ranges.length; nth++) {
      const text = textAt(nth);
      const same = nth < first ? known[nth] : nth >= last ? known[nth + moved] : undefined;
      if (same === undefined) all.push(LazyBlock.read(text, route, folds));
      else all.push(nth < first || moved === 0 ? same.keep(text) : same.at(text));
      await pause(nth);
    }
    return all;
  }
}
