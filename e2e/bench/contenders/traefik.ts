import { writeFileSync } from 'node:fs';
import { freePort } from '../../testing/ports.ts';
import { Program } from '../../testing/process.ts';
import { type Contender, HOST, onCores, started, type Task } from './contender.ts';

/** Traefik doing what our default policies do, except for request ids, which it has only in traces. */
export async function traefik(path: string, { folder, cores, upstream, secure }: Task): Promise<Contender> {
  const port = await freePort();
  // It reads YAML, which includes JSON, but no files named .json.
  const config = folder.file('traefik.yml');
  writeFileSync(
    config,
    JSON.stringify({
      http: {
        routers: {
          bench: {
            entryPoints: ['in'],
            rule: `Host(\`${HOST}\`)`,
            service: 'target',
            middlewares: ['fields'],
            ...(secure !== null && { tls: {} }),
          },
        },
        middlewares: {
          fields: { headers: { customResponseHeaders: { 'X-Content-Type-Options': 'nosniff', 'X-Frame-Options': 'SAMEORIGIN' } } },
        },
        services: { target: { loadBalancer: { servers: [{ url: `http://127.0.0.1:${upstream}` }] } } },
      },
      ...(secure !== null && {
        tls: { stores: { default: { defaultCertificate: { certFile: secure.certificate, keyFile: secure.privateKey } } } },
      }),
    }),
  );
  const flags = [
    `--entryPoints.in.address=127.0.0.1:${port}`,
    `--providers.file.filename=${config}`,
    '--global.checkNewVersion=false',
    '--global.sendAnonymousUsage=false',
    '--log.level=ERROR',
  ];
  return started('traefik', new Program(...onCores(cores, path, ...flags)), port, secure);
}
