import type { Condition } from '../../condition.ts';
import type { Grammar } from '../../config-file/directive.ts';
import { readTemplate } from '../../config-file/placeholder.ts';
import { quote, unquoted } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';

const FORM = 'respond <status> [<body>] or respond <body> [<status>]';
/** Characters. */
const LONGEST_BODY = 65_536;
const MAX_RESPONDS = 100;

type Answer = { status: number; body: string };
type RespondMembers = { respond?: Answer | null; responds?: (Answer & { match: Condition })[] | undefined };
/** Statuses whose responses never have a body (RFC 9110 15.3.5, 15.3.6, 15.4.5). */
const WITHOUT_BODY = [204, 205, 304];

export const respondDirective: Grammar<RespondMembers> = {
  name: 'respond',
  otherNames: ['abort', 'error', 'static_response'],
  form: FORM,
  args: [1, 4],
  block: 'none',
  repeats: 'conditionally',
  answers: true,
  matcher: 'before',
  read({ name, args }, part, { report, sourceWords }, condition) {
    // As in Caddy, where the paths may come first.
    const [first, second, extra] = args[1] && args[0]?.style === 'bare' && args[0].text === '*' ? args.slice(1) : args;
    if (!first) return;
    const path = [first, second].find((word) => word?.style === 'bare' && word.text.startsWith('/'));
    if (path)
      return report.error(
        path,
        `respond ${quote(path.text)}: to select a path, write "handle ${unquoted(path.text)} {", respond inside it, and "}"`,
      );
    if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for respond: write ${FORM}`);
    const statusWord = isNumber(first) ? first : second;
    const body = isNumber(first) ? second : first;
    const status = statusWord ? readStatus(statusWord) : 200;
    if (statusWord && status === undefined)
      return report.error(
        statusWord,
        `respond ${quote(statusWord.text)}: a status must be a number from 200 to 599; put a body of several words in quotes`,
      );
    if (status === undefined) return;
    if (body && WITHOUT_BODY.includes(status)) return report.error(body, `a response with status ${status} has no body: delete it`);
    if (body && body.text.length > LONGEST_BODY) return report.error(body, `a body is at most ${LONGEST_BODY} characters long`);
    const text = body ? readTemplate(body, 'request') : { text: '' };
    if (body && 'fault' in text) return report.error(body, `respond: ${text.fault}`);
    if ('fault' in text) return;
    const answer = { status, body: text.text };
    if (condition === null) {
      part.respond = answer;
      return;
    }
    const { responds = [] } = part;
    if (responds.length === MAX_RESPONDS) return report.error(name, `a block has at most ${MAX_RESPONDS} respond lines with a matcher`);
    const spec = { ...answer, match: condition };
    part.responds = [...responds, spec];
    sourceWords.set(spec, name);
  },
};

const isNumber = (word: Word): boolean => word.style === 'bare' && /^\d+$/.test(word.text);

function readStatus(word: Word): number | undefined {
  const status = isNumber(word) && word.text.length === 3 ? Number(word.text) : 0;
  return status >= 200 && status <= 599 ? status : undefined;
}
