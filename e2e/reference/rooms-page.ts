import { ROOMS } from '../rooms.ts';

/** `docs/rooms.md`. */
export async function roomsPage(): Promise<string> {
  const rows = ROOMS.map(
    ({ name, holds, mayImport }) => `| \`${name}\` | ${holds} | ${mayImport.map((one) => `\`${one}\``).join(' ') || '—'} |`,
  );
  return `# Who may import whom

A room is a folder, with all below it that is no room of its own, or a single file. Its files may import each other, \`shared\` and what stands in
the rooms named here, and nothing else; each room stands below those that import it. Nowhere do files import each other in a circle, types included.
\`e2e/rooms.test.ts\` holds it. This page is made from \`e2e/rooms.ts\`: \`sh scripts/reference.sh\` writes it.

| room | what it holds | may import |
|---|---|---|
${rows.join('\n')}
`;
}
