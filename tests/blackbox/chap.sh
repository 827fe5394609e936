#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# CHAP with initiators of others (libiscsi: iscsi-ls, iscsi-inq, qemu), accounts at
# run time, a secret replaced while initiators log in, and secrets that stay secret.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers C-022 C-023 C-024 C-025 C-026 C-030 C-037 C-042 C-044 fault-B12
need jq iscsi-ls iscsi-inq qemu-io

secret="one-way-secret-1"
ours="secret-of-the-target"
new=$iqn-new
thin_lu disk 64MiB
(umask 077 && echo "$ours" >"$dir/ours")
# configuration ACCOUNTS: one target for account "joe", discovery likewise.
configuration() {
	targets=("{ name = \"$iqn\"; luns = ( { lun = 0; lu = \"disk\"; } ); access = ( { account = \"joe\"; } ); }")
	configure "discovery_access = ( { account = \"joe\"; } );"
	echo "accounts = ( $1 );" >>"$conf"
	chmod 600 "$conf"
}
joe="name = \"joe\"; secret = \"$secret\"; mutual_name = \"us\"; mutual_secret_file = \"$dir/ours\";"
configuration "{ $joe }"
start_hawserd

# as USER%SECRET [LUN [IQN]]: a url with credentials.
as() {
	echo "iscsi://$1@127.0.0.1:$port${3:+/$3/$2}"
}
mutual="target_user=us&target_password"

check discovery grep "$iqn" <(iscsi-ls "$(as "joe%$secret")" 2>&1)
refused discovery-wrong-secret 10 513 iscsi-ls "$(as joe%wrong-secret-1)"
refused discovery-without 10 513 iscsi-ls "$(as '')"
check login iscsi-inq "$(as "joe%$secret" 0 "$iqn")"
refused login-wrong-secret 10 . iscsi-inq "$(as joe%wrong-secret-1 0 "$iqn")"
refused login-without 10 . iscsi-inq "$(url 0)"
refused login-wrong-name 10 . iscsi-inq "$(as "jim%$secret" 0 "$iqn")"
check mutual iscsi-inq "$(as "joe%$secret" 0 "$iqn")?$mutual=$ours"
refused mutual-wrong 10 . iscsi-inq "$(as "joe%$secret" 0 "$iqn")?$mutual=not-$ours"
check qemu qemu-io -f raw -c 'write -P 0x5a 0 1M' -c 'read -P 0x5a 0 1M' "$(as "joe%$secret" 0 "$iqn")"
check log-says-none-offered grep -q 'CHAP is required and was not offered' "$log"
check counted test "$(ctl --json daemon stats | jq .counters.authentication_failures)" -ge 5
check counted-in-words grep -q authentication_failures <(ctl daemon stats)

# Accounts at run time.
check target ctl target create "$new"
check map ctl lun map disk "$new" --lun 0
generated=$(ctl account create 0bob --generate 22)
equal generated-length 22 "${#generated}"
other=$(ctl account create jane --generate 22)
check generated-differs test "$generated" != "$other"
check rule ctl acl add "$new" --account 0bob
check generated-works iscsi-inq "$(as "0bob%$generated" 0 "$new")"
refused other-account 10 . iscsi-inq "$(as "jane%$other" 0 "$new")"
refused no-secret-on-a-pipe 2 'secret-file' ctl account create jim </dev/null
refused never-by-argument 2 . ctl account create jim --secret "$secret"
refused too-short 1 '12 to 255' ctl account create jim --secret-file - <<<eleven-char
refused bad-hexadecimal 1 'hexadecimal' ctl account create jim --secret-file - <<<0xzzzzzzzzzzzzzzzzzzzzzz
refused both-directions 1 'must not share' ctl account create jim --secret-file - \
	--mutual-name us --mutual-secret-file <(echo "$secret") <<<"$secret"
refused other-direction 1 'must not share' ctl account create jim --secret-file - <<<"$ours"
refused twice 1 'already' ctl account create joe --secret-file - <<<"$secret-x"
refused of-the-file 1 "$conf" ctl account rotate joe --secret-file - <<<"$secret-x"
refused unknown-account 1 'does not exist' ctl acl add "$new" --account nobody
refused in-use 1 'acl list' ctl account delete 0bob
check same-secret ctl account create twin --secret-file - <<<"$generated"
check same-secret-warns grep -q 'same secret as account' "$log"
check delete-twin ctl account delete twin
check binary ctl account set jane --secret-file - <<<0x000102030405060708090a0b0c0d0e0f
check no-md5 ctl account set jane --algorithms sha256,sha3-256
refused unknown-algorithm 1 'md5 sha1' ctl account set jane --algorithms sha512

# A new secret while initiators log in: none of them is turned away.
logins() {
	local bad=0
	until [ -e "$dir/retired" ]; do
		iscsi-inq "$(as "0bob%$1" 0 "$new")" >/dev/null 2>&1 || bad=$((bad + 1))
	done
	echo $bad
}
logins "$generated" >"$dir/bad" &
old=$!
check rotate ctl account rotate 0bob --secret-file - <<<new-secret-of-bob
check new-secret iscsi-inq "$(as 0bob%new-secret-of-bob 0 "$new")"
check old-secret iscsi-inq "$(as "0bob%$generated" 0 "$new")"
touch "$dir/retired"
wait $old
equal nobody-turned-away 0 "$(cat "$dir/bad")"
check retire ctl account retire 0bob
refused old-secret-retired 10 . iscsi-inq "$(as "0bob%$generated" 0 "$new")"
check new-secret-stays iscsi-inq "$(as 0bob%new-secret-of-bob 0 "$new")"

# Nothing shows a secret, but the state keeps it, for root alone.
secrets="$secret|$ours|new-secret-of-bob|$generated|000102030405"
said=$(ctl account list; ctl --json account show joe; ctl --json account list; ctl --json config show
	ctl config save; ctl config diff; ctl --json target show "$new")
check asked grep -q 'not shown' <<<"$said"
check nothing-shows-secrets test -z "$(grep -E "$secrets" <<<"$said")"
check save-says-where grep -qE "secret: not shown; it stands in $conf line [0-9]+" <(ctl config save)
check save-says-state grep -q 'kept in the state folder' <(ctl config save)
check log-is-clean test -z "$(grep -E "$secrets" "$log")"
equal state-files 0 "$(find "$dir/state/accounts" -type f -perm /077 | wc -l)"
check state-folder test -z "$(find "$dir/state/accounts" -maxdepth 0 -perm /077)"
kill_hawserd
start_hawserd
check kept-over-a-kill iscsi-inq "$(as 0bob%new-secret-of-bob 0 "$new")"

# A rule that goes takes its sessions along.
stdbuf -oL qemu-io -f raw -c 'read 0 4k' -c 'sleep 3000' "$(as 0bob%new-secret-of-bob 0 "$new")" >"$dir/session" 2>&1 &
session=$!
shows_account() {
	ctl --json session list | grep -q 0bob
}
check session-shows-account wait_for 10 shows_account
check remove-rule ctl acl remove "$new" 1
check then-delete ctl account delete 0bob
refused no-way-in 10 . iscsi-inq "$(as 0bob%new-secret-of-bob 0 "$new")"
kill $session 2>/dev/null
wait $session 2>/dev/null

# Files that everybody can read.
check reload ctl daemon reload
chmod 644 "$dir/ours"
refused open-secret-file 1 'open to everybody' ctl daemon reload
chmod 600 "$dir/ours"
chmod 644 "$conf"
refused open-configuration 1 'open to everybody' ctl daemon reload
chmod 600 "$conf"
check reload-again ctl daemon reload
configuration "{ $joe secret2_file = \"$dir/none\"; }"
refused no-such-file 1 'secret2_file' ctl daemon reload
configuration "{ $joe secret_file = \"$dir/ours\"; }"
refused both-given 1 'both there' ctl daemon reload
(umask 077 && echo "accounts = ( { $joe } );" >"$dir/accounts.conf")
configuration ''
sed -i 's/^accounts.*/@include "accounts.conf"/' "$conf"
chmod 644 "$conf"
check included-file ctl daemon reload
check included-works iscsi-inq "$(as "joe%$secret" 0 "$iqn")"
stop_hawserd
equal stops-with-0 0 $?
