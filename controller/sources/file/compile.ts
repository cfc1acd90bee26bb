import type { Domain } from '../../../shared/host.ts';
import type { RouteSpec } from '../../../shared/route.ts';
import type { Globals } from '../../../shared/settings.ts';
import { readLines } from './block.ts';
import { collectDiagnostics, type Diagnostic, type Report } from './diagnostics.ts';
import { GLOBAL_RULES, type GlobalsDraft } from './globals.ts';
import { parse } from './parser.ts';
import { readContent } from './read.ts';
import { readSite } from './site.ts';
import type { Block } from './syntax.ts';
import { readText } from './text.ts';
import type { Environment } from './variables.ts';
import type { Place } from './word.ts';

/** A config file, understood as a whole or not at all. */
export type Compiled =
  | {
      readonly ok: true;
      /** In the order of the file, with `source` and `origin` (`path:line`) set. */
      readonly routes: readonly RouteSpec[];
      readonly globals: Globals;
      /** What is right but perhaps not meant. */
      readonly warnings: readonly Diagnostic[];
    }
  | {
      readonly ok: false;
      /** All mistakes, in the order of the file. Never empty. */
      readonly diagnostics: readonly Diagnostic[];
    };

export type CompiledFile = Compiled & {
  /**
   * Every path whose change may change the outcome, also of a file with mistakes: the file itself, each file that it
   * imports or tried to, and each directory in which an import looked for names.
   */
  readonly inputs: readonly string[];
};

/** Reads and compiles the file at `path`. A file that can't be read is one diagnostic; nothing is thrown. */
export async function compileFile(path: string, env: Environment): Promise<CompiledFile> {
  const inputs = [path];
  const content = await readContent(path);
  if (content.ok) return { ...compileBytes(content.value, path, env), inputs };
  return { ok: false, diagnostics: [{ path, place: null, message: content.reason }], inputs };
}

/** Compiles the bytes of a file; `path` is what diagnostics and origins call it. Throws for no bytes at all. */
export function compileBytes(bytes: Buffer, path: string, env: Environment): Compiled {
  const report = collectDiagnostics();
  const text = readText(bytes, path, report);
  if (text !== null && text.trim() === '')
    return { ok: false, diagnostics: [{ path, place: null, message: 'the file is empty: write a site, or a comment if none is meant' }] };
  const { globals, routes } = text === null ? NOTHING : compileText(text, path, env, report);
  const diagnostics = report.errors();
  return diagnostics.length > 0 ? { ok: false, diagnostics } : { ok: true, routes, globals, warnings: report.warnings() };
}

const NOTHING = { globals: {}, routes: [] };

function compileText(text: string, path: string, env: Environment, report: Report): { globals: Globals; routes: RouteSpec[] } {
  let globals: Globals = {};
  const taken = new Map<Domain, Place>();
  const routes: RouteSpec[] = [];
  for (const part of parse(text, path, env, report)) {
    if (report.full()) continue;
    if (part.kind === 'globals') globals = readGlobals(part.block, report);
    else readSite(part, taken, report, (route) => routes.push(route));
  }
  return { globals, routes };
}

function readGlobals(block: Block, report: Report): Globals {
  const draft: GlobalsDraft = {};
  // No global holds a block of directives.
  readLines(block, 'globals', GLOBAL_RULES, draft, [], { report, readBlock: () => undefined });
  return draft;
}
