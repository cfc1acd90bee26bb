import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLabels, type SiteLabels } from '../../labels/read-labels.ts';
import { MAX_PROBLEMS_PER_ORIGIN, ProblemList } from '../../problem-list.ts';
import { sampleContainer } from '../testing/sample-container.ts';
import { differencesOf, type Member } from './pools.ts';

test('a container that differs from many others in many labels is compared with one of them', () => {
  let compared = 0;
  class Watched extends Map<string, string> {
    override keys(): MapIterator<string> {
      compared++;
      return super.keys();
    }
  }
  const members = Array.from({ length: 30 }, (_, at): Member => {
    const settings = Array.from({ length: 200 }, (__, label) => [`sluice.header.${label}`, `${at}`]);
    const container = sampleContainer(at + 1, { labels: { 'sluice.domain': 'a.example', ...Object.fromEntries(settings) } });
    const [site] = readLabels(container.labels).sites;
    assert.ok(site);
    const choice: Member['choice'] = { address: '172.18.0.2:80', reason: '' } as never;
    return { container, site: { ...site, common: new Watched(site.common) } satisfies SiteLabels, choice };
  });
  const problems = new ProblemList('container');
  // The oldest one shares a domain with all others, the second one another with all but the oldest, and so on.
  for (const [at] of members.entries())
    for (const one of differencesOf('a.example' as never, members.slice(at), new Set(), problems)) problems.add(one);
  assert.equal(problems.list().length, (members.length - 1) * MAX_PROBLEMS_PER_ORIGIN);
  assert.equal(compared, 2 * (members.length - 1));
});
