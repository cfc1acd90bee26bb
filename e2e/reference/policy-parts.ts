import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SITE_RULES } from '../../controller/sources/file/directives/directives.ts';
import { DIRECTIVES, ELSEWHERE } from '../../controller/sources/kubernetes/annotations/ingress-annotations.ts';
import { LABELS } from '../../controller/sources/labels/label-rules.ts';
import { CLUSTER_PREFIX, LABEL_PREFIX } from '../../shared/name.ts';
import { SITE_POLICIES } from '../../shared/policy/policies.ts';
import { REPOSITORY } from '../testing/process.ts';

/** The sections about the policies' directives, which are next to their descriptions. */
export function policySections(): string {
  const texts = globSync('shared/policy/*/reference.md', { cwd: REPOSITORY }).map((path) => readFileSync(join(REPOSITORY, path), 'utf8'));
  return SITE_POLICIES.flatMap(({ directive }) => directive ?? [])
    .map(({ name }) => {
      const section = texts.find((text) => text.startsWith(`### ${name}\n`));
      if (section === undefined) throw new Error(`no reference.md in shared/policy begins with "### ${name}"`);
      return section;
    })
    .join('\n');
}

export function labelTable(): string {
  const rows = [...LABELS].map(([word, { form, otherwise, example }]) => {
    const name = `${LABEL_PREFIX}${word}`;
    const [shown, used] = word === 'header' ? [`${name}.<Name>`, `${name}.X-Frame-Options`] : [name, name];
    return `| \`${shown}\` | \`${form}\` | ${otherwise} | \`${used}=${example}\` |\n`;
  });
  return `| label | form | default | example |\n|---|---|---|---|\n${rows.join('')}`;
}

/** What an annotation of an Ingress can hold: labels, directives, or both. */
export function annotationTable(): string {
  const words = [...new Set([...LABELS.keys(), ...DIRECTIVES])].filter((word) => !ELSEWHERE.has(word));
  const rows = words.flatMap((word) => {
    const rule = LABELS.get(word);
    const name = `${CLUSTER_PREFIX}${word}`;
    const shown = word === 'header' ? `${name}.<Name>` : name;
    const label = rule ? [`| \`${shown}\` | label | \`${escaped(rule.form)}\` |\n`] : [];
    const directive = DIRECTIVES.includes(word) ? [directiveRow(name, word)] : [];
    return [...label, ...directive];
  });
  const users = `| \`${CLUSTER_PREFIX}basic_auth\` | Secret | \`<secret> [<realm>]\` |\n`;
  return `| annotation | is a | form |\n|---|---|---|\n${rows.join('')}${users}`;
}

function directiveRow(name: string, word: string): string {
  const form = SITE_RULES.get(word)?.form ?? '';
  return `| \`${name}\` | [directive](sluicefile.md#${word}) | \`${escaped(form.slice(word.length + 1))}\` |\n`;
}

/** In a table, a bar ends a cell, also in code. */
const escaped = (form: string): string => form.replaceAll('|', '\\|');
