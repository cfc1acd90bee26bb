import { compileCondition } from '../../match/condition.ts';
import { foldsPaths, remainderIn } from '../../match/pattern.ts';
import { describeAnswer, fixedAnswer } from '../../respond/fixed.ts';
import { answers, type PolicyKind, passes } from '../policy.ts';

/** `respond <matcher> <status> [body]`: the site's come before the block's own. Without a matcher it is the block's responder. */
export const respond: PolicyKind = (route, handle) =>
  [...(route.responds ?? []), ...(handle?.responds ?? [])].map((spec) => {
    const answerTo = fixedAnswer(spec, remainderIn(route, handle));
    const matches = compileCondition(spec.match, foldsPaths(route));
    return {
      name: 'respond',
      decide: (x) => (matches(x.path, x) ? answerTo(x) : null),
      explain: (x) => (matches(x.path, x) ? answers(describeAnswer(spec)) : passes(`${spec.match.name ?? 'its condition'} does not match`)),
    };
  });
