import { didYouMean } from '../../../../shared/closest.ts';
import type { Directive, DirectiveBlock } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import { isMatcher, lineOf, type Word } from '../../../../shared/config-file/word.ts';
import { CADDY_DIRECTIVES, CADDY_GLOBALS } from '../directives/caddy-words.ts';
import { SITE_RULES } from '../directives/directives.ts';
import { insteadOfNginx } from '../directives/nginx-words.ts';
import { OTHER_GLOBALS, OTHER_NAMES } from '../directives/other-names.ts';
import { REVERSE_PROXY_OPTIONS } from '../directives/reverse-proxy.ts';
import type { BlockKind } from '../directives/rule.ts';
import { TRANSPORT_OPTIONS } from '../directives/transport.ts';
import { GLOBAL_RULES } from './globals.ts';
import { misplaced } from './misplaced.ts';

/** Directives whose options are often written next to them. */
const OWNERS: readonly { readonly directive: string; readonly options: readonly string[] }[] = [
  { directive: 'reverse_proxy', options: REVERSE_PROXY_OPTIONS },
  { directive: 'transport', options: TRANSPORT_OPTIONS },
];

/** Says what is wrong with a directive that a block of this kind does not have, and which one was probably meant. */
export function explainUnknown({ name, block }: Directive, scope: BlockKind, within: DirectiveBlock): string {
  if (isMatcher(name)) return 'a matcher belongs in a site or in a handle, not in the globals block';
  if (/^(?:\/\/|\/\*|;|--)/.test(name.text)) return 'a comment begins with #';
  const elsewhere = (scope === 'globals' ? SITE_RULES : GLOBAL_RULES).get(name.text);
  if (elsewhere) return misplaced(name.text, elsewhere.scopes, scope);
  const what = scope === 'globals' ? 'global option' : 'directive';
  const other = (scope === 'globals' ? OTHER_GLOBALS : OTHER_NAMES).get(name.text);
  if (other) return `unknown ${what} ${quote(name.text)} (did you mean "${other}"?)`;
  const instead = (scope === 'globals' ? CADDY_GLOBALS : CADDY_DIRECTIVES).get(name.text) ?? insteadOfNginx(name.text);
  if (instead) return `unknown ${what} ${quote(name.text)}: ${instead}`;
  const owner = scope === 'globals' ? undefined : OWNERS.find(({ options }) => options.includes(name.text));
  if (owner) return `unknown ${what} ${quote(name.text)}: it belongs in the block of ${owner.directive}`;
  if (block && name.text.includes('.')) return `unknown ${what} ${quote(name.text)}: ${siteInside(name, within)}`;
  const known = [...(scope === 'globals' ? GLOBAL_RULES : SITE_RULES).keys()];
  return `unknown ${what} ${quote(name.text)}${didYouMean(name.text, known)}`;
}

function siteInside(name: Word, { open }: DirectiveBlock): string {
  if (open.path !== name.path) return `if it is a site, its import belongs outside the block at ${lineOf(open, name)}`;
  return `if it is a site, the block of ${lineOf(open, name)} is not closed before it`;
}
