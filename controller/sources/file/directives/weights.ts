import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import { MAX_WEIGHT } from '../../../../shared/limits.ts';
import type { UpstreamSpec } from '../../../../shared/route.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';

/** Reads a weight; 1, and reported, if it is invalid. */
export function readWeight(word: Word, name: string, report: DiagnosticReport): number {
  const weight = Number(word.text);
  if (/^\d{1,4}$/.test(word.text) && weight <= MAX_WEIGHT) return weight;
  report.error(word, `${name} ${quote(word.text)}: a weight is a number from 0 to ${MAX_WEIGHT}`);
  return 1;
}

/** Reads `lb_policy weighted_round_robin 3 1`: one weight per target, in their order. */
export function readWeights({ name, args }: Directive, upstreams: readonly UpstreamSpec[], report: DiagnosticReport): UpstreamSpec[] {
  const weights = args.slice(1).map((word) => readWeight(word, 'lb_policy weighted_round_robin', report));
  if (weights.length !== upstreams.length && upstreams.length > 0)
    report.error(
      args[upstreams.length + 1] ?? name,
      `lb_policy weighted_round_robin needs one weight per upstream: ${upstreams.length} upstreams, ${weights.length} weights`,
    );
  return upstreams.map((upstream, index) => ({ ...upstream, weight: weights[index] ?? 1 }));
}
