import { writeFileSync } from 'node:fs';
import { freePort } from '../../testing/ports.ts';
import { Program } from '../../testing/process.ts';
import { type Contender, HOST, onCores, started, type Task } from './contender.ts';

/** Caddy doing what our default policies do. */
export async function caddy(path: string, { folder, cores, upstream, tls }: Task): Promise<Contender> {
  const port = await freePort();
  const config = folder.file('Caddyfile');
  writeFileSync(
    config,
    `{
  admin off
  auto_https off
  default_sni ${HOST}
}
${tls === null ? 'http' : 'https'}://${HOST}:${port} {
  bind 127.0.0.1
  ${tls === null ? '' : `tls ${tls.certificate} ${tls.privateKey}`}
  header X-Content-Type-Options nosniff
  header X-Frame-Options SAMEORIGIN
  reverse_proxy 127.0.0.1:${upstream} {
    header_up X-Real-IP {remote_host}
    header_up X-Request-ID {http.request.uuid}
    transport http {
      keepalive_idle_conns_per_host 128
    }
  }
}
`,
  );
  const env = { HOME: folder.path, XDG_DATA_HOME: folder.path, XDG_CONFIG_HOME: folder.path };
  const program = new Program(...onCores(cores, path, 'run', '--config', config, '--adapter', 'caddyfile'), env);
  return started('caddy', program, port, tls);
}
