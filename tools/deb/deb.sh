#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Makes Debian packages of what "make install" installs, for the Debian that this is: build/deb/*.deb. Each file belongs to one
# package, or the end is an error; lintian has nothing to say about any, or that is one, too.
#
#   tools/deb/deb.sh
#
# packages.txt says what there is; NAME.lintian-overrides why lintian is wrong, or we are.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=/dev/null
. tools/setup/common.sh

OUT=build/deb
STAGE=$PWD/$OUT/stage # all that is installed
HERE=tools/deb
VERSION=$(sed -n 's/^project(exrnic VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
MAINTAINER='The exrnic developers <exrnic@example.org>'
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)

install_everything() {
  DESTDIR=$STAGE cmake --install build/host --prefix /usr >/dev/null
  make -s -C kmod dkms_install DESTDIR="$STAGE" PREFIX=/usr >/dev/null
  tools/install_provider.sh "$STAGE" /usr
  # Where Debian 12 and later have it: / and /usr are one, and Python's packages know no number.
  cp -a "$STAGE/lib/." "$STAGE/usr/lib/"
  rm -rf "${STAGE:?}/lib"
  mkdir -p "$STAGE/usr/lib/python3"
  mv "$STAGE"/usr/lib/python3.*/dist-packages "$STAGE/usr/lib/python3/"
  rmdir "$STAGE"/usr/lib/python3.*
  sed -i 's#/lib/python3\.[0-9]*/#/lib/python3/#' "$STAGE/usr/bin/exrnic-launch"
  install -d "$STAGE/usr/share/java"
  mv "$STAGE/usr/lib/jni/exrnic.jar" "$STAGE/usr/share/java/exrnic-$VERSION.jar"
  ln -s "exrnic-$VERSION.jar" "$STAGE/usr/share/java/exrnic.jar"
}

# take ROOT PATTERN...: moves what they mean from the stage.
take() {
  local root=$1 pattern path
  shift
  for pattern in "$@"; do
    # shellcheck disable=SC2086 # a pattern
    for path in $(cd "$STAGE" && compgen -G "$pattern"); do
      mkdir -p "$root/$(dirname "$path")"
      mv "$STAGE/$path" "$root/$path"
    done
  done
}

# Of a distribution's binaries the debugger's part is left out.
strip_all() {
  local file
  find "$1" -type f | while read -r file; do
    case $(file -b "$file") in
    *ELF*relocatable*) ;;
    *ELF*shared\ object* | *ELF*executable*)
      strip --strip-unneeded --remove-section=.comment --remove-section=.note "$file"
      [[ $file != *.so* ]] || chmod 644 "$file"
      ;;
    *ar\ archive*) strip --strip-debug --enable-deterministic-archives "$file" ;;
    esac
  done
}

# needed_libraries ROOT: as Depends, of what is linked dynamically.
needed_libraries() {
  local work=$OUT/shlibs files
  mkdir -p "$work/debian"
  printf 'Source: exrnic\n\nPackage: exrnic\nArchitecture: amd64\n' >"$work/debian/control"
  mapfile -t files < <(find "$PWD/$1" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec sh -c \
    'file -b "$1" | grep -q "ELF.*dynamically linked"' - {} \; -print)
  ((${#files[@]} > 0)) || return 0
  # Our own libraries depend on each other within their package.
  (cd "$work" && dpkg-shlibdeps -O --ignore-missing-info "-l$PWD/../libverbs-lite0/usr/lib" "${files[@]}" 2>../shlibs.log) |
    sed -n 's/^shlibs:Depends=//p' || { cat "$OUT/shlibs.log" >&2; return 1; }
}

manuals() {
  local root=$1 program name
  for program in "$root"/usr/bin/*; do
    [[ -e $program ]] || return 0
    name=$(basename "$program")
    mkdir -p "$root/usr/share/man/man1"
    PATH=$STAGE/usr/bin:$PATH help2man --no-info --no-discard-stderr --version-string="$VERSION" --section=1 \
      --name="$(summary_of "$name")" "$program" | gzip -9n >"$root/usr/share/man/man1/$name.1.gz"
  done
}

summary_of() { sed -n "s/^$1: //p" "$HERE/programs.txt" | grep . || die "$HERE/programs.txt: nothing of $1"; }

documents() {
  local name=$1 doc=$2/usr/share/doc/$1
  mkdir -p "$doc"
  sed 1d "$HERE/copyright" >"$doc/copyright"
  {
    printf 'exrnic (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md of the source.\n\n' "$VERSION"
    printf ' -- %s  %s\n' "$MAINTAINER" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")"
  } | gzip -9n >"$doc/changelog.gz"
  [[ ! -f $HERE/$name.lintian-overrides ]] ||
    install -D -m 644 "$HERE/$name.lintian-overrides" "$2/usr/share/lintian/overrides/$name"
}

# package NAME SECTION ARCHITECTURE DEPENDS SUMMARY: with its patterns and a description on the lines of stdin.
package() {
  local name=$1 section=$2 architecture=$3 depends=$4 summary=$5 root=$OUT/$1 line patterns=() libraries script
  while read -r line && [[ $line ]]; do patterns+=("$line"); done
  take "$root" "${patterns[@]}"
  [[ -d $root ]] || die "nothing is in $name"
  strip_all "$root"
  documents "$name" "$root"
  manuals "$root"
  libraries=$(needed_libraries "$root")
  mkdir -p "$root/DEBIAN"
  {
    printf 'Package: %s\nSource: exrnic\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$name" "$VERSION" "$architecture" "$MAINTAINER"
    printf 'Section: %s\nPriority: optional\nInstalled-Size: %s\n' "$section" "$(du -k -s --apparent-size "$root" | cut -f1)"
    line=$(sed "s/@VERSION@/$VERSION/g; s/^-$//" <<<"$depends")
    line=$line${line:+${libraries:+, }}$libraries
    [[ ! $line ]] || printf 'Depends: %s\n' "$line"
    printf 'Description: %s\n' "$summary"
    sed 's/^/ /'
  } >"$root/DEBIAN/control"
  (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  for script in triggers postinst prerm conffiles; do
    [[ -f $HERE/$name.$script ]] || continue
    sed "s/@VERSION@/$VERSION/g" "$HERE/$name.$script" >"$root/DEBIAN/$script"
    if [[ $script == p* ]]; then chmod 755 "$root/DEBIAN/$script"; else sed -i 1d "$root/DEBIAN/$script"; fi
  done
  shared_libraries "$root"
  find "$root" -type d -exec chmod 755 {} +
  dpkg-deb --root-owner-group --build "$root" "$OUT" >/dev/null
}

# Who is linked with them depends on this package.
shared_libraries() {
  local library
  for library in "$1"/usr/lib/*.so.[0-9]; do
    [[ -e $library ]] || return 0
    library=$(basename "$library")
    echo "${library%.so.*} ${library##*.so.} $(basename "$1") (>= $VERSION)" >>"$1/DEBIAN/shlibs"
  done
}

main() {
  rm -rf "$OUT"
  mkdir -p "$STAGE"
  install_everything
  # Programs run from there, for their manuals, until they are moved.
  local line name rest fields
  while IFS= read -r line; do
    [[ $line != \#* && $line ]] || continue
    IFS='|' read -r name rest <<<"$line"
    IFS='|' read -ra fields <<<"$rest"
    {
      for line in ${fields[4]}; do echo "$line"; done
      echo
      fold -s -w 78 <<<"${fields[5]}" | sed 's/ *$//'
    } | package "$name" "${fields[@]:0:4}"
  done <"$HERE/packages.txt"
  line=$(find "$STAGE" ! -type d)
  [[ ! $line ]] || die "no package of $HERE/packages.txt has:" "$line"
  rm -rf "$STAGE" "$OUT/shlibs"
  lintian --fail-on error,warning --suppress-tags-from-file "$HERE/suppressed-tags.txt" "$OUT"/*.deb
  ls "$OUT"/*.deb
}

main "$@"
