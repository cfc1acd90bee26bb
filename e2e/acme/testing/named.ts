import { mkdirSync, writeFileSync } from 'node:fs';
import { until } from '../../../shared/runtime/testing/until.ts';
import type { Folder } from '../../testing/dataplane.ts';
import { freePort, isFree } from '../../testing/ports.ts';
import { Program } from '../../testing/process.ts';

const KEY = { name: 'acme-key', algorithm: 'hmac-sha256', secret: 'c2VjcmV0IG9mIHRoZSB0ZXN0cyBhbmQgbm8gb3RoZXI=' };

/** A DNS server for `example.com`, where one key may set challenge records, and `example.org`, which points to it. */
export class Named {
  readonly port: number;
  readonly keyPath: string;
  private readonly program: Program;

  private constructor(port: number, keyPath: string, program: Program) {
    this.port = port;
    this.keyPath = keyPath;
    this.program = program;
  }

  static async start(folder: Folder): Promise<Named> {
    const home = folder.file('named');
    mkdirSync(home);
    const port = await freePort();
    const file = (name: string, text: string): string => {
      writeFileSync(`${home}/${name}`, text);
      return `${home}/${name}`;
    };
    const keyPath = file('acme.key', keyText(KEY));
    file('example.com', zoneText('@ TXT "v=one " "two"\n'));
    file('example.org', zoneText('_acme-challenge.shop CNAME shop.checks.example.com.\n_acme-challenge.odd CNAME -n.example.com.\n'));
    const grant = `update-policy { grant ${KEY.name} zonesub TXT; };`;
    const config = file(
      'named.conf',
      `${keyText(KEY)}
options { directory "${home}"; pid-file none; session-keyfile none; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion yes; dnssec-validation no; };
controls { };
zone "example.com" { type primary; file "${home}/example.com"; ${grant} };
zone "example.org" { type primary; file "${home}/example.org"; };
`,
    );
    const program = new Program('/usr/sbin/named', ['-g', '-c', config]);
    const named = new Named(port, keyPath, program);
    await until('the DNS server to answer', async () => {
      if (program.exit !== null) throw new Error(program.output);
      return !(await isFree(port)) && /\brunning\b/.test(program.output) && program.output.includes('all zones loaded');
    }).catch(async (error: unknown) => {
      await named[Symbol.asyncDispose]();
      throw new Error(`${error}\n${program.output}`);
    });
    return named;
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Its complete output. */
  get output(): string {
    return this.program.output;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.program[Symbol.asyncDispose]();
  }
}

/** A key as `tsig-keygen` prints it. */
export const keyText = ({ name, algorithm, secret } = KEY): string =>
  `key "${name}" {\n\talgorithm ${algorithm};\n\tsecret "${secret}";\n};\n`;

const zoneText = (records: string): string => `$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n${records}`;
