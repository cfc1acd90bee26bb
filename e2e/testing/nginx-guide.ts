import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from './process.ts';

/** A row of the table of annotations in docs/from-ingress-nginx.md. */
export type GuideRow = {
  /** Annotations of ingress-nginx, without their prefix and values. */
  readonly theirs: readonly string[];
  /** What to write instead, by the name of the annotation; empty where there is no equivalent. */
  readonly ours: Readonly<Record<string, string>>;
  /** The text about it. */
  readonly text: string;
};

export const GUIDE = readFileSync(join(REPOSITORY, 'docs/from-ingress-nginx.md'), 'utf8');

export const guideRows: readonly GuideRow[] = (/\n## Annotations\n[\s\S]*?\|---\|---\|\n([\s\S]*?)\n\n/.exec(GUIDE)?.[1] ?? '')
  .split('\n')
  .map((line) => {
    const [, left = '', right = ''] = line.split(/(?<!\\)\|/);
    const codes = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
    const ours = codes(right).flatMap((code) => {
      const [, name = '', value = ''] = /^(sluice\.dev\/[\w.-]+): (.+)$/.exec(code) ?? [];
      return name === '' ? [] : [[name, value] as const];
    });
    return { theirs: codes(left).map((code) => code.replace(/:.*/, '')), ours: Object.fromEntries(ours), text: right.trim() };
  });

/** The manifests that the page shows. */
export const guideManifests: readonly string[] = [...GUIDE.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']) => text);
