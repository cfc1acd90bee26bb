import type { BlockKind } from '../directives/rule.ts';

/** Says where a directive belongs that is not allowed in a block of this kind. */
export function misplaced(name: string, scopes: readonly BlockKind[], scope: BlockKind): string {
  if (scope === 'handle' && (name === 'handle' || name === 'handle_path'))
    return `${name} belongs in a site, not inside another block: write it there, above that block, with its whole path`;
  return `${name} belongs in ${scopes.map(described).join(' or in ')}, not in ${described(scope)}`;
}

const described = (scope: BlockKind): string => (scope === 'globals' ? 'the globals block' : scope === 'site' ? 'a site' : 'a handle');
