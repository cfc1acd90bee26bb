import { BALANCING_FORM, readBalancing } from '../../../../shared/balancing/read-balancing.ts';
import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import type { Rule, SiteDraft } from './rule.ts';

/** How the target of a request is chosen; it may also be in the block of reverse_proxy. */
export const lbPolicy: Rule<SiteDraft> = {
  name: 'lb_policy',
  form: BALANCING_FORM,
  scopes: ['site', 'handle'],
  args: [1, 3],
  block: 'none',
  repeats: false,
  read(line, draft, { report }) {
    if (draft.members.lb_policy !== undefined)
      report.error(line.name, 'lb_policy is already in the block of reverse_proxy; keep one of them');
    else readPolicy(line, draft, report);
  },
};

export function readPolicy({ name, args }: Directive, draft: SiteDraft, report: DiagnosticReport): void {
  const result = readBalancing(args.map(({ text }) => text));
  if ('spec' in result) {
    draft.members.lb_policy = result.spec;
    return;
  }
  const { at, reason } = result.fault;
  const word = args[at];
  const said = `lb_policy${word ? ` ${quote(word.text)}` : ''}: ${reason}`;
  report.error(word ?? name, `${said}: write ${BALANCING_FORM}`);
}
