import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../testing/process.ts';
import { DECISION_TOPICS } from './decision-topics.ts';

const FOLDER = join(REPOSITORY, 'docs', 'decisions');

/** Of one decision; `successor` is the number of the page that supersedes it. */
type Decision = { readonly number: string; readonly file: string; readonly title: string; readonly successor: string | undefined };

/** `docs/decisions/README.md`. @throws naming a page without a topic, and a topic's page that doesn't exist. */
export async function decisionsPage(): Promise<string> {
  const left = new Map(decisions().map((one) => [one.number, one]));
  const sections = Object.entries(DECISION_TOPICS).map(([topic, numbers]) => {
    const lines = numbers.map((number) => {
      const decision = left.get(number);
      if (decision === undefined) throw new Error(`e2e/reference/decision-topics.ts lists ${number} twice, or there is no such page`);
      left.delete(number);
      return lineOf(decision);
    });
    return `## ${topic}\n\n${lines.join('\n')}\n`;
  });
  if (left.size > 0) throw new Error(`e2e/reference/decision-topics.ts has no topic for ${[...left.keys()].join(', ')}`);
  return `# Decisions

Why Sluice is built as it is, one decision per page, by what they are about. [Architecture](../architecture.md) describes the result, and
[CONTRIBUTING.md](../../CONTRIBUTING.md) says when a decision gets a page. This index is generated from \`e2e/reference/decision-topics.ts\`
by \`sh scripts/reference.sh\`.

${sections.join('\n')}`;
}

function decisions(): Decision[] {
  return readdirSync(FOLDER)
    .filter((name) => /^\d{4}-/.test(name))
    .toSorted()
    .map((file) => {
      const text = readFileSync(join(FOLDER, file), 'utf8');
      const [, title = ''] = /^# (.+)$/m.exec(text) ?? [];
      return { number: file.slice(0, 4), file, title, successor: / · Status: superseded by \[(\d{4})\]/.exec(text)?.[1] };
    });
}

const lineOf = ({ number, file, title, successor }: Decision): string =>
  `- ${number} [${title}](${file})${successor === undefined ? '' : `, superseded by ${successor}`}`;
