import type { Certificate } from '../../../../shared/certificates/certificate.ts';
import type { Condition, ShareCondition } from '../../../../shared/condition.ts';
import type { Directive, DirectiveBlock, DirectiveContext, Grammar } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import type { Position, Word } from '../../../../shared/config-file/word.ts';
import type { RouteDraft } from '../../../../shared/route.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import { Selections } from './selections.ts';

/** The kind of block that contains a directive. */
export type BlockKind = 'globals' | 'site' | 'handle';

/** A directive of the language, and where it is allowed. */
export type Rule<Draft> = Grammar<Draft, Context> & { readonly scopes: readonly BlockKind[] };

/** A directive with exactly one argument and no block. `refuse` reports the argument with a reason. */
export const oneArgument = <Draft>(
  name: string,
  argument: string,
  scopes: readonly BlockKind[],
  reader: (word: Word, draft: Draft, refuse: (why: string) => void, context: Context) => void,
): Rule<Draft> => ({
  name,
  form: `${name} ${argument}`,
  scopes,
  args: [1, 1],
  block: 'none',
  repeats: false,
  read({ args: [word] }, draft, context) {
    if (word) reader(word, draft, (why) => context.report.error(word, `${name} ${quote(word.text)}: ${why}`), context);
  },
});

export type Rules<Draft> = ReadonlyMap<string, Rule<Draft>>;

export type Context = DirectiveContext & {
  readonly report: DiagnosticReport;
  /** The error for a directive that the rules of a block do not include. */
  unknown(directive: Directive, scope: BlockKind, within: DirectiveBlock): string;
  /** Reads the directives of a block inside a site. */
  readBlock(block: DirectiveBlock, scope: BlockKind, draft: SiteDraft): void;
};

/** A site or one of its blocks being read. */
export type SiteDraft = {
  /** The first of each directive in the block, valid or not. */
  readonly seen: Word[];
  /** Whether lines are missing, because of an import with an error. */
  incomplete?: true;
  /** Members of its route. */
  readonly members: RouteDraft;
  /** The certificate supplied by the site, and the word that names its file. */
  pair: { readonly word: Word; readonly pair: Certificate } | null;
  readonly handles: HandleDraft[];
  /** The path or matcher that they are for. */
  readonly selections: Selections;
  /** What decides which group of a split gets a request; each request by itself if absent. */
  splitBy?: Pick<ShareCondition, 'by' | 'name'>;
  splitByPlace?: Position;
  /** Members from the block of reverse_proxy: they don't apply to the targets of another one. */
  readonly ofPool: Set<InheritedOption>;
};

/** Members that a handle inherits from its site if it does not set them. */
export type InheritedOption = 'transport' | 'health' | 'passive_health' | 'hold_secs';

/** A path block, with the position of its directive. */
export type HandleDraft = {
  readonly place: Position;
  readonly path: string | null;
  readonly match: Condition | null;
  readonly strip: boolean;
  /** Its share, if it is one of several blocks among which the requests of a path or matcher are divided. */
  readonly group?: { readonly weight: number };
  readonly draft: SiteDraft;
};

export const emptyDraft = (): SiteDraft => ({
  seen: [],
  members: {},
  pair: null,
  handles: [],
  selections: new Selections(),
  ofPool: new Set(),
});

export const rulesByName = <Draft>(rules: readonly Rule<Draft>[]): Rules<Draft> => new Map(rules.map((rule) => [rule.name, rule]));
