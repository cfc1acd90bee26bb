import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LABELS } from '../../controller/sources/labels/label-rules.ts';
import { LABEL_PREFIX } from '../../shared/name.ts';
import { SITE_POLICIES } from '../../shared/policy/policies.ts';
import { REPOSITORY } from '../harness/process.ts';

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
