import { ROOMS } from '../rooms.ts';

/** `docs/rooms.md`. */
export async function roomsPage(): Promise<string> {
  const rows = ROOMS.map(
    ({ name, holds, mayImport }) => `| \`${name}\` | ${holds} | ${mayImport.map((one) => `\`${one}\``).join(' ') || '—'} |`,
  );
  return `# Who may import whom

A room is a module boundary: a single file, or a folder with everything below it that is not itself a room. The files of a room may import
each other, \`shared\`, and the rooms listed here, and nothing else. Each room is listed below those that may import it. Import cycles are
not allowed, not even between types. \`e2e/rooms.test.ts\` enforces this. This page is generated from \`e2e/rooms.ts\` by
\`sh scripts/reference.sh\`.

| room | what it contains | may import |
|---|---|---|
${rows.join('\n')}
`;
}
