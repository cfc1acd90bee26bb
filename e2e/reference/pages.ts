import { caddyWordsPage } from './caddy-words-page.ts';
import { commandLinePage } from './command-line-page.ts';
import { decisionsPage } from './decisions-page.ts';
import { withParts } from './marked-parts.ts';
import { annotationTable, labelTable, policySections } from './policy-parts.ts';
import { roomsPage } from './rooms-page.ts';
import { routesPage } from './routes-page.ts';

/** The pages that are generated completely or partly, by their path in the repository. */
export const PAGES: Readonly<Record<string, () => Promise<string>>> = {
  'docs/decisions/README.md': decisionsPage,
  'docs/reference/caddy-words.md': caddyWordsPage,
  'docs/reference/command-line.md': commandLinePage,
  'docs/reference/routes.md': routesPage,
  'docs/reference/sluicefile.md': withParts('docs/reference/sluicefile.md', { policies: policySections }),
  'docs/reference/labels.md': withParts('docs/reference/labels.md', { labels: labelTable }),
  'docs/reference/annotations.md': withParts('docs/reference/annotations.md', { annotations: annotationTable }),
  'docs/rooms.md': roomsPage,
};
