import type { Directive, DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { parseLogFile } from '../../values/log-output.ts';

const OUTPUT = 'output stdout|file <path>';
const ROTATION = 'rename the file and send SIGUSR2, as logrotate does';

type LogMembers = { log?: string | undefined };

export const logDirective: Grammar<LogMembers> = {
  name: 'log',
  otherNames: ['access_log'],
  form: `log [on|off] or log { output stdout|file <path> }`,
  args: [0, 1],
  block: 'optional',
  repeats: false,
  foreign: new Map([
    ['level', 'every request is logged: leave it out'],
    ['hostnames', 'write log in the site of that host'],
    ['no_hostname', 'write log in the site of that host'],
    ['sampling', 'every request is logged: leave it out'],
  ]),
  read({ name, args: [word], block }, part, { report }) {
    if (word && word.text !== 'on' && word.text !== 'off')
      return report.error(word, `log ${quote(word.text)}: write ${logDirective.form}; logs have no names`);
    if (word && block) return report.error(block.open, 'log on and log off have no block');
    part.log = word?.text ?? 'on';
    const seen = new Set<string>();
    for (const line of block?.lines ?? []) {
      if (seen.has(line.name.text)) report.error(line.name, `log has one ${line.name.text} line; keep one of them`);
      seen.add(line.name.text);
      readLine(line, part, report);
    }
    if (block && block.lines.length === 0) report.error(name, `log has an empty block: write ${OUTPUT} in it, or log without one`);
  },
};

function readLine(line: Directive, part: LogMembers, report: DirectiveContext['report']): void {
  const { name, args, block } = line;
  const [first, second, extra] = args;
  if (name.text === 'format') {
    if (first?.text !== 'json' || second) report.error(first ?? name, 'the format is always JSON: leave format out');
    else if (block) report.error(block.open, 'format json takes no block: secrets are always left out');
    return;
  }
  const foreign = logDirective.foreign?.get(name.text);
  if (name.text !== 'output') return report.error(name, `log ${quote(name.text)}: ${foreign ?? `write ${OUTPUT}`}`);
  if (block) return report.error(block.open, `output takes no block: ${ROTATION}`);
  if (first?.text === 'stdout' && !second) part.log = 'stdout';
  else if (first?.text === 'discard' && !second) report.error(first, 'output discard: write log off');
  else if (first?.text !== 'file' || !second || extra) report.error(extra ?? first ?? name, `write ${OUTPUT}`);
  else {
    const path = parseLogFile(second.text);
    if (path.ok) part.log = path.value;
    else report.error(second, `output file ${quote(second.text)}: ${path.reason}`);
  }
}
