import { caddyWordsPage } from './caddy-words-page.ts';
import { commandLinePage } from './command-line-page.ts';
import { routesPage } from './routes-page.ts';

/** The pages that are made from code, by their path in the repository. */
export const PAGES: Readonly<Record<string, () => Promise<string>>> = {
  'docs/reference/caddy-words.md': caddyWordsPage,
  'docs/reference/command-line.md': commandLinePage,
  'docs/reference/routes.md': routesPage,
};
