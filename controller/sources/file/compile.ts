import type { Position } from '../../../shared/config-file/word.ts';
import type { RouteSpec } from '../../../shared/route.ts';
import { DEFAULT_HTTP_PORT, DEFAULT_HTTPS_PORT, type Globals } from '../../../shared/settings.ts';
import type { Domain } from '../../../shared/values/host.ts';
import type { SourceCertificate } from '../source.ts';
import type { Diagnostic } from './diagnostics/diagnostics.ts';
import { beginReading, type Part, partsOf, type Reading, readGlobals } from './parts.ts';
import { readSite, type SharedContext } from './sites/site.ts';
import type { FilePorts } from './sites/site-address.ts';
import { combineCertificates, type SiteCertificate } from './sites/site-certificate.ts';
import { explainUnknown } from './sites/unknown-directive.ts';
import { type Files, filesOnDisk } from './text/files.ts';
import { readContent } from './text/read.ts';
import type { Environment } from './variables/read-context.ts';

/** A compiled config file: valid as a whole or not at all. */
export type Compiled =
  | {
      readonly ok: true;
      /** In the order of the file, with `source` and `origin` (`path:line`) set. */
      readonly routes: readonly RouteSpec[];
      readonly globals: Globals;
      /** The certificates supplied by sites, with their keys. */
      readonly certificates: readonly SourceCertificate[];
      /** Valid, but perhaps not intended. */
      readonly warnings: readonly Diagnostic[];
    }
  | {
      readonly ok: false;
      /** All errors, in the order of the file. Never empty. */
      readonly diagnostics: readonly Diagnostic[];
      /** The globals if there is a valid block of them, regardless of other errors. */
      readonly globals: Globals | null;
    };

export type CompiledFile = Compiled & {
  /**
   * Every path whose change may change the result, even for a file with errors: the file itself, each file that it imports or tried to
   * import, and each directory searched by an import.
   */
  readonly inputs: readonly string[];
};

/** Reads and compiles the file at `path` and its imports. An unreadable file is a diagnostic; nothing is thrown. */
export async function compileFile(path: string, env: Environment): Promise<CompiledFile> {
  const files = filesOnDisk();
  const content = await readContent(path);
  if (!content.ok) return { ...whole(path, content.reason), inputs: [path] };
  const compiled = compileBytes(content.value, path, env, files);
  return { ...compiled, inputs: [path, ...files.looked] };
}

/**
 * Compiles the bytes of a file; `path` is what diagnostics and origins call it, and where its imports are looked for. No
 * content of the file makes it throw.
 */
export function compileBytes(bytes: Buffer, path: string, env: Environment, files: Files = filesOnDisk()): Compiled {
  const reading = beginReading(bytes, path, env, files);
  const { report, text } = reading;
  if (text !== null && text.trim() === '') return whole(path, 'the file is empty: write a site, or a comment if none is meant');
  const result: Result = { taken: new Map(), routes: [], certificates: [], globals: null, sites: false };
  const shared: SharedContext = { ...reading.context, unknown: explainUnknown, ports: () => portsOf(result.globals) };
  for (const part of partsOf(path, env, reading)) readPart(part, result, reading, shared);
  const diagnostics = report.errors();
  const { routes, certificates, globals } = result;
  if (diagnostics.length > 0) return { ok: false, diagnostics, globals: globals?.sound ?? null };
  return { ok: true, routes, globals: globals?.sound ?? {}, certificates: combineCertificates(certificates), warnings: report.warnings() };
}

/** An error of the file as a whole. */
const whole = (path: string, message: string): Compiled => ({ ok: false, diagnostics: [{ path, place: null, message }], globals: null });

/** What has been read so far. */
type Result = {
  readonly taken: Map<Domain, Position>;
  readonly routes: RouteSpec[];
  readonly certificates: SiteCertificate[];
  /** The first block of globals; `sound` is null if it contains errors. */
  globals: { readonly sound: Globals | null } | null;
  /** Whether a site has been read: globals must come before the first. */
  sites: boolean;
};

function portsOf(globals: Result['globals']): FilePorts | null {
  if (globals !== null && globals.sound === null) return null;
  const { http_port = DEFAULT_HTTP_PORT, https_port = DEFAULT_HTTPS_PORT } = globals?.sound ?? {};
  return { http: [http_port].flat(), https: [https_port].flat() };
}

function readPart({ part, errorsBefore }: Part, result: Result, reading: Reading, shared: SharedContext): void {
  if (part.kind === 'site') {
    result.sites = true;
    return readSite(part, result.taken, shared, {
      route: (route) => result.routes.push(route),
      certificate: (certificate) => result.certificates.push(certificate),
    });
  }
  if (result.sites || result.globals !== null)
    return reading.report.error(
      part.block.open,
      'this block has no site address before it; globals are written once, at the top of the file',
    );
  result.globals = { sound: readGlobals(part.block, errorsBefore, reading, explainUnknown) };
}
